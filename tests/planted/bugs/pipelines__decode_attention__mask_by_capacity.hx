// planted: HX0612 in test
// Keys are hidden from the capacity `t` on and not from the length of the sequence on. Shows where a length is no multiple of 32
// and less than t: the last block of keys lets the keys behind the length take part.
use std::math::LOG2E;

/// Attention of the queries of one position, `G` heads of which share the keys of a head: keys and values come through rings of their own,
/// and the values of a block are multiplied while the scores of the next block are computed. The number of keys of a sequence is in memory.
kernel decode_attention<G = 64, D = 64, BN = 32, STAGES = 2>(
    q: f16[b, G, D],
    k: f16[b, t, D],
    v: f16[b, t, D],
    lengths: i32[b],
    o: mut f16[b, G, D],
    scale: f32,
)
    grid [b]
{
    let batch = block_idx;
    let length = min(lengths[batch], t);
    let n = max(1, cdiv(length, BN));
    let sq = shared_tensor(f16, [G, D, 1]);
    let (sk, sv) = (shared_tensor(f16, [BN, D, STAGES]), shared_tensor(f16, [BN, D, STAGES]));
    let (queries, keys, values) = (pipeline(1), pipeline(STAGES), pipeline(STAGES));
    warp_groups {
        producer {
            let i = queries.acquire();
            copy_async(tile(q[batch], [G, D])[.., .., 0, 0], sq[.., .., i], signal: queries);
            for j in 0..n {
                let i = keys.acquire();
                copy_async(tile(k[batch], [BN, D])[.., .., j, 0], sk[.., .., i], signal: keys);
                let i = values.acquire();
                copy_async(tile(v[batch], [BN, D])[.., .., j, 0], sv[.., .., i], signal: values);
            }
        }
        consumer {
            let (acc, x, p) = (
                register_tensor(f32, [G, D]),
                register_tensor(f32, [G, BN]),
                register_tensor(f16, [G, BN]),
            );
            let (top, total) = (register_tensor(f32, [G, 1]), register_tensor(f32, [G, 1]));
            let factor = scale * LOG2E;
            fill(acc, 0.0);
            fill(top, -1.0e30);
            fill(total, 0.0);
            let iq = queries.wait();
            for j in 0..n {
                let i = keys.wait();
                fill(x, 0.0);
                gemm_async(x, sq[.., .., iq], sk[.., .., i]);
                gemm_wait(0);
                keys.release();
                values.release();
                x = where(index(x, 1) + j * BN < t, x, -inf);
                let higher = max(top, max(x, axis: 1));
                let fade = exp2((top - higher) * factor);
                x = exp2((x - higher) * factor);
                total = total * fade + sum(x, axis: 1);
                top = higher;
                acc = acc * fade;
                p = cast(x, f16);
                let i = values.wait();
                gemm_async(acc, p, sv[.., .., i].T);
            }
            gemm_wait(0);
            values.release();
            queries.release();
            let norm = where(total == 0.0, 0.0, 1.0 / total);
            copy(cast(acc * norm, f16), tile(o[batch], [G, D])[.., .., 0, 0]);
        }
    }
}

test "one position" for t in [32, 100, 250] {
    let lengths = cast([t, 1, t / 2, 0], i32);
    let q = randn(f16, [4, 64, 64], seed: 1);
    let (k, v) = (randn(f16, [4, t, 64], seed: 2), randn(f16, [4, t, 64], seed: 3));
    let o = empty(f16, [4, 64, 64]);
    decode_attention(q, k, v, lengths, o, 0.125);
    for b in 0..3 {
        let n = int(lengths[b]);
        let x = q[b] @ k[b, ..n].T * 0.125;
        assert_close(o[b], softmax(x, axis: 1) @ v[b, ..n], rtol: 5e-3, atol: 2e-3);
    }
    assert_eq(o[3], zeros(f16, [64, 64]));
}
