//! Hovers over roles, and over the pipelines, turns and counters that connect them.

use expect_test::expect;

use super::shows::check_hover;
use super::{hints, with_text};
use crate::LastGood;

/// A producer fills a ring with boxes, and two groups multiply out of it.
const ROLES: &str = "kernel product<B = 128, S = 4>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, B), cdiv(n, B)]
{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [B, 64, S]), shared_tensor(f16, [B, 64, S]));
    let pipe = pipeline(S);
    warp_groups {
        producer {
            for ki in 0..cdiv(k, 64) {
                let s = pipe.acquire();
                copy_async(tile(a, [B, 64])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [B, 64])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }
        }
        consumer 2 {
            let acc = register_tensor(f32, [B, B]);
            fill(acc, 0.0);
            for _ in 0..cdiv(k, 64) {
                let s = pipe.wait();
                gemm(acc, sa[.., .., s], sb[.., .., s]);
                pipe.release();
            }
            copy(cast(acc, f16), tile(c, [B, B])[.., .., bm, bn]);
        }
    }
}
";

#[test]
fn roles_tell_their_threads_and_registers() {
    check_hover(
        &ROLES.replace("producer {", "prod$0ucer {"),
        expect![[r#"
            k.hx:8:9 producer
            ```hx
            producer
            ```

            A role whose threads keep few registers if it does not say how many: it copies.

            1 group, threads 0 to 127 · 24 registers a thread; the launch gives each thread of the block 168

            about 10252 cycles, 2532 of them with instructions; about 24 of 24 registers  
            L2 cache 8812 (86 %), issue slots 8 (0 %)"#]],
    );
    check_hover(
        &ROLES.replace("consumer 2 {", "con$0sumer 2 {"),
        expect![[r#"
            k.hx:15:9 consumer
            ```hx
            consumer
            ```

            A role whose threads get most registers if it does not say how many: it computes.

            2 groups, threads 128 to 383, together · 240 registers a thread; the launch gives each thread of the block 168

            about 13642 cycles, 12604 of them with instructions; about 88 of 240 registers  
            tensor cores 8192 (60 %), shared memory 6656 (49 %), L2 cache 683 (5 %), arithmetic 128 (1 %), issue slots 272 (2 %)"#]],
    );
    let each = ROLES.replace("consumer 2 {", "consumer ea$0ch 2 (_) registers 200 {");
    check_hover(
        &each,
        expect![[r#"
            k.hx:15:18 each
            ```hx
            each
            ```

            Every group of 128 threads runs the body for itself.

            2 groups, threads 128 to 383, each for itself · 200 registers a thread; the launch gives each thread of the block 168

            about 19375 cycles, 12588 of them with instructions; about 152 of 200 registers  
            tensor cores 16384 (85 %), shared memory 13312 (69 %), L2 cache 1365 (7 %), arithmetic 256 (1 %), issue slots 544 (3 %)"#]],
    );
}

#[test]
fn a_pipeline_tells_who_publishes_its_stages() {
    let text = "kernel k(x: f32[m], y: mut f32[m]) grid [1] {
    let s = shared_tensor(f32, [128, 2]);
    let ri$0ng = pipeline(2);
    warp_groups {
        producer {
            for i in 0..cdiv(m, 128) {
                let v = load(tile(x, [128])[.., i]);
                let t = ring.acquire();
                copy(v + v, s[.., t]);
                ring.publish();
            }
        }
        consumer {
            for i in 0..cdiv(m, 128) {
                let t = ring.wait();
                copy(load(s[.., t]), tile(y, [128])[.., i]);
                ring.release();
            }
        }
    }
}
";
    check_hover(
        text,
        expect![[r#"
        k.hx:3:9 ring
        ```hx
        let ring: pipeline
        ```

        2 stages · published by the role of threads 0..128 · free after 4 arrivals
    "#]],
    );
}

#[test]
fn a_pipeline_tells_its_stages() {
    check_hover(
        &ROLES.replace("let pipe =", "let pi$0pe ="),
        expect![[r#"
        k.hx:6:9 pipe
        ```hx
        let pipe: pipeline
        ```

        4 stages · filled with 32768 B by `tma.load` · free after 2 arrivals
    "#]],
    );
}

#[test]
fn a_counter_tells_its_numbers() {
    check_hover(
        "kernel k(y: mut f32[m], c: mut i32[1]) grid [4] {
    let wo$0rk = counter(c, cdiv(m, 128));
    warp_groups {
        producer {
            for t in work { sync(); }
        }
        consumer 2 {
            for t in work { copy(load(tile(y, [128])[.., t]), tile(y, [128])[.., t]); }
        }
    }
}",
        expect![[r#"
            k.hx:2:9 work
            ```hx
            let work: counter
            ```

            0..(m + 127) / 128 · the role of threads 0..128 draws · also read by the role of threads 128..384
        "#]],
    );
}

#[test]
fn turns_tell_who_takes_them() {
    check_hover(
        "fn alone(s: shared mut f32[N], order: turns) {
    order.take();
    fill(s, 1.0);
    order.pass();
}

kernel k(y: mut f32[m]) grid [4] {
    let s = shared_tensor(f32, [128]);
    let or$0der = turns();
    warp_groups {
        producer {}
        consumer each 2 (_) { alone(s, order); }
    }
}",
        expect![[r#"
            k.hx:9:9 order
            ```hx
            let order: turns
            ```

            taken by the 2 groups of threads 128..384, one after the other
        "#]],
    );
}

#[test]
fn a_barrier_tells_who_comes() {
    let text = "kernel k(x: f32[m], y: mut f32[m]) grid [4] {
    let s = shared_tensor(f32, [128]);
    let fu$0ll = barrier();
    warp_groups {
        producer {
            copy(load(tile(x, [128])[.., 0]), s);
            full.arrive();
        }
        consumer each 2 (g) {
            full.sync();
            copy(load(tile(s, [64])[.., g]), tile(y, [64])[.., g]);
        }
    }
}";
    check_hover(
        text,
        expect![[r#"
        k.hx:3:9 full
        ```hx
        let full: barrier
        ```

        barrier 4 of 384 threads: the role of threads 0..128 and the 2 groups of threads 128..384
    "#]],
    );
    check_hover(
        &text.replace("fu$0ll", "full").replace("full.arr", "full.ar$0r"),
        expect![[r#"
        k.hx:7:18 arrive
        ```hx
        .arrive()
        ```

        Comes to the barrier and does not wait for the others."#]],
    );
}

#[test]
fn names_of_a_tuple_have_layouts() {
    let (db, file) = with_text(ROLES);
    expect![[r#"
        5:12 ⟨128B swizzle⟩
        5:16 ⟨128B swizzle⟩
        11:91 tma.load 64×128
        12:91 tma.load 64×128
        16:20 ⟨wgmma.C 2×1⟩
        20:57 wgmma.m64n128k16
        23:67 st.global.v4 · 16 B
    "#]]
    .assert_eq(&hints(&db, file, &LastGood::default()));
}
