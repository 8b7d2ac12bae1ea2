// planted: HX0310 in check
// The noisy logits are not masked: elements past the end of a row are zeros with the noise 0. Shows where n is no multiple of 128
// and all noisy logits of a row are negative: the token is one that does not exist.
/// For each row of logits the token with the largest logit plus noise, and the log-probability of that token: rows of any length, a tile at a
/// time. Each of two groups takes whole rows of a block; the tiles of the other group's rows are skipped,
/// and turns keep the rounds of the ring apart.
kernel sampled_rows<B = 128, S = 4>(x: f32[m, n], noise: f32[m, n], token: mut i32[m], logp: mut f32[m])
    where n % 4 == 0, n >= 1
    grid [min(3, m)]
{
    let (rounds, tiles) = (cdiv(m - block_idx, grid_dim), cdiv(n, B));
    let (sx, sn) = (shared_tensor(f32, [B, S]), shared_tensor(f32, [B, S]));
    let (pipe, order) = (pipeline(S, readers: 1), turns());
    warp_groups {
        producer {
            for w in 0..rounds {
                let row = block_idx + w * grid_dim;
                for i in 0..tiles {
                    let s = pipe.acquire();
                    copy_async(tile(x[row], [B])[.., i], sx[.., s], signal: pipe);
                    copy_async(tile(noise[row], [B])[.., i], sn[.., s], signal: pipe);
                }
            }
        }
        consumer each 2 (g) {
            pipe.skip(g * tiles);
            for w in 0..cdiv(rounds - g, 2) {
                let row = block_idx + (2 * w + g) * grid_dim;
                let (top, total) = (register_tensor(f32, [1]), register_tensor(f32, [1]));
                let (best, chosen) = (register_tensor(f32, [1]), register_tensor(f32, [1]));
                let at = register_tensor(i32, [1]);
                fill(top, -1.0e30);
                fill(total, 0.0);
                fill(best, -inf);
                fill(chosen, 0.0);
                fill(at, 0);
                order.take();
                for i in 0..tiles {
                    let s = pipe.wait();
                    let v = load(sx[.., s]);
                    let z = v + load(sn[.., s]);
                    pipe.release();
                    let place = index(v, 0) + i * B;
                    let own = where(place < n, v, -inf);
                    let noisy = z;
                    let higher = max(top, max(own, axis: 0));
                    total = total * exp(top - higher) + sum(exp(own - higher), axis: 0);
                    top = higher;
                    let most = max(noisy, axis: 0);
                    let where_most = argmax(noisy, axis: 0);
                    let picked = sum(where(index(v, 0) == where_most, own, 0.0), axis: 0);
                    let better = most > best;
                    at = where(better, where_most + cast(i * B, i32), at);
                    chosen = where(better, picked, chosen);
                    best = max(best, most);
                }
                order.pass();
                pipe.skip(tiles);
                copy(at, tile(token, [1])[.., row]);
                copy(chosen - top - log(total), tile(logp, [1])[.., row]);
            }
        }
    }
}

test "tokens are sampled" for (m, n) in [(1, 128), (5, 300), (7, 1000), (4, 4)] {
    let x = randn(f32, [m, n], seed: 1);
    let noise = randn(f32, [m, n], seed: 2);
    let (token, logp) = (empty(i32, [m]), empty(f32, [m]));
    sampled_rows(x, noise, token, logp);
    let p = log(softmax(x, axis: 1));
    for i in 0..m {
        let at = argmax(cast(x[i] + noise[i], f32));
        assert_eq(token[i], at);
        assert_close(logp[i], p[i, at], rtol: 1e-4, atol: 1e-4);
    }
}
