//! Products of 8-bit floats by warp groups, whose instructions read tiles in shared memory along K only, of tiles that are contiguous along
//! M or N.

/// c[m, n] = a[k, m]ᵀ · b[n, k]: A goes through registers.
kernel rows<BM = 128, BN = 64, BK = 128, STAGES = 2>(a: f8e4m3[k, m], b: f8e4m3[n, k], c: mut f32[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
{
    let [bm, bn] = block_idx;
    let sa = shared_tensor(f8e4m3, [BK, BM, STAGES]);
    let sb = shared_tensor(f8e4m3, [BN, BK, STAGES]);
    let pipe = pipeline(STAGES);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, BK) {
                let i = pipe.acquire();
                copy_async(tile(a, [BK, BM])[.., .., ki, bm], sa[.., .., i], signal: pipe);
                copy_async(tile(b, [BN, BK])[.., .., bn, ki], sb[.., .., i], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, BN]);
            fill(acc, 0.0);
            for _ki in 0..cdiv(k, BK) {
                let i = pipe.wait();
                gemm(acc, load(sa[.., .., i].T), sb[.., .., i]);
                gemm_wait(0);
                pipe.release();
            }
            copy(acc, tile(c, [BM, BN])[.., .., bm, bn]);
        }
    }
}

/// o[m, D] = p[m, t] · v[t, D], as in attention: V goes through registers to a tile that is contiguous along the keys.
kernel values<BM = 128, BN = 128, D = 64>(p: f8e4m3[m, t], v: f8e4m3[t, D], o: mut f32[m, D])
    grid [cdiv(m, BM)]
{
    let sv = shared_tensor(f8e4m3, [BN, D, 2]);
    let sp = shared_tensor(f8e4m3, [BM, BN, 2]);
    let pipe = pipeline(2);
    warp_groups {
        producer {
            for j in 0..cdiv(t, BN) {
                let i = pipe.acquire();
                copy_async(tile(v, [BN, D])[.., .., j, 0], sv[.., .., i], signal: pipe);
                copy_async(tile(p, [BM, BN])[.., .., block_idx, j], sp[.., .., i], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [BM, D]);
            let vt = shared_tensor(f8e4m3, [D, BN]);
            fill(acc, 0.0);
            for _j in 0..cdiv(t, BN) {
                let i = pipe.wait();
                sync();
                copy(load(sv[.., .., i].T), vt);
                sync();
                gemm(acc, sp[.., .., i], vt);
                pipe.release();
            }
            copy(acc, tile(o, [BM, D])[.., .., block_idx, 0]);
        }
    }
}

test "rows of A" for (m, n, k) in [(128, 64, 256), (144, 80, 96), (16, 48, 400)] {
    let a = cast(uniform(i8, [k, m], low: -4, high: 5, seed: 1), f8e4m3);
    let b = cast(uniform(i8, [n, k], low: -4, high: 5, seed: 2), f8e4m3);
    let c = empty(f32, [m, n]);
    rows(a, b, c);
    assert(uses("wgmma"), "warp groups");
    assert(uses("ldmatrix.x4.trans.b8"), "transposed");
    assert_eq(bytes_per_access("sa"), 16);
    assert_eq(c, a.T @ b.T);
}

test "values" for (m, t) in [(128, 256), (144, 400), (16, 48)] {
    let p = cast(uniform(i8, [m, t], low: -4, high: 5, seed: 1), f8e4m3);
    let v = cast(uniform(i8, [t, 64], low: -4, high: 5, seed: 2), f8e4m3);
    let o = empty(f32, [m, 64]);
    values(p, v, o);
    assert(uses("wgmma"), "warp groups");
    assert(uses("ldmatrix.x4.trans.b8") || uses("stmatrix.x4.trans.b8"), "transposed");
    assert_eq([bytes_per_access("sv"), bytes_per_access("vt")], [16, 16]);
    assert_eq(o, p @ v);
}

/// o[m, D] = p[m, t] · v[t, D], with the keys of both in another order: of 16 keys, key 8 a + 2 t + b comes to place 4 t + 2 a + b. A role
/// turns V in this order, and the registers of P are named in it.
kernel reordered<BN = 128, D = 64>(p: f8e4m3[m, t], v: f8e4m3[t, D], o: mut f32[m, D])
    grid [cdiv(m, 64)]
{
    let sv = shared_tensor(f8e4m3, [BN, D, 2]);
    let sp = shared_tensor(f8e4m3, [64, BN, 2]);
    let vt = shared_tensor(f8e4m3, [D, BN, 2]);
    let (raw, turned) = (pipeline(2), pipeline(2));
    warp_groups {
        producer {
            for j in 0..cdiv(t, BN) {
                let i = raw.acquire();
                copy_async(tile(v, [BN, D])[.., .., j, 0], sv[.., .., i], signal: raw);
                copy_async(tile(p, [64, BN])[.., .., block_idx, j], sp[.., .., i], signal: raw);
            }
        }
        consumer {
            for _j in 0..cdiv(t, BN) {
                let i = raw.wait();
                let x = load(permute(reshape(sv[.., .., i], [BN / 16, 2, 4, 2, D]), [4, 0, 2, 1, 3]));
                raw.release();
                let s = turned.acquire();
                copy(reshape(x, [D, BN]), vt[.., .., s]);
                turned.publish();
            }
        }
        consumer {
            let acc = register_tensor(f32, [64, D]);
            fill(acc, 0.0);
            for _j in 0..cdiv(t, BN) {
                let i = raw.wait();
                let x = load(sp[.., .., i]);
                raw.release();
                let s = turned.wait();
                gemm(
                    acc,
                    reshape(permute(reshape(x, [64, BN / 16, 2, 4, 2]), [0, 1, 3, 2, 4]), [64, BN]),
                    vt[.., .., s],
                );
                turned.release();
            }
            copy(acc, tile(o, [64, D])[.., .., block_idx, 0]);
        }
    }
}

test "values in another order of keys" for (m, t) in [(64, 128), (144, 400)] {
    let p = cast(uniform(i8, [m, t], low: -4, high: 5, seed: 1), f8e4m3);
    let v = cast(uniform(i8, [t, 64], low: -4, high: 5, seed: 2), f8e4m3);
    let o = empty(f32, [m, 64]);
    reordered(p, v, o);
    assert(uses("wgmma"), "warp groups");
    assert(uses("ldmatrix.x4.trans.b8") && uses("stmatrix.x4"), "transposed in the other order");
    assert_eq([bytes_per_access("sv"), bytes_per_access("vt")], [16, 16]);
    assert_eq(redistributions(), 0);
    assert_eq(o, p @ v);
}
