//! Protocols of right kernels: two persistent products and attention.

use std::time::Instant;

use expect_test::expect;

use super::{check_text, parse, verdict};

/// A persistent product whose groups share each tile.
pub(in crate::protocol) const COOPERATIVE: &str = "\
pipe p 4
role load {
    for w in R {
        for k in K {
            acquire p
            fill sa[p] 16
            fill sb[p] 32
        }
    }
}
role use 2 {
    for w in R {
        for k in K {
            wait p
            gemm_async acc, sa[p], sb[p]
            gemm_wait 1
            release_previous p
        }
        gemm_wait 0
        release p
        for j in 4 {
            wait_stores 1
            sync
            use acc
            write sc[(w * 4 + j) % 2]
            sync
            store sc[(w * 4 + j) % 2]
        }
    }
}
";

/// A persistent product whose groups have tiles of their own, and take turns.
pub(in crate::protocol) const PING_PONG: &str = "\
pipe p 4 readers 1
turns m
turns s
role load {
    for w in R {
        for k in K {
            acquire p
            fill sa[p] 16
            fill sb[p] 32
        }
    }
}
each use 2 g {
    skip p g * K
    for i in (R - g + 1) / 2 {
        take m
        for k in K {
            wait p
            gemm_async acc, sa[p], sb[p]
            gemm_wait 1
            release_previous p
        }
        pass m
        gemm_wait 0
        release p
        skip p K
        take s
        for j in 4 {
            wait_stores 1
            sync
            use acc
            write .sc[j % 2]
            sync
            store .sc[j % 2]
        }
        pass s
    }
}
";

/// Attention, forward.
pub(in crate::protocol) const ATTENTION: &str = "\
pipe q 1
pipe k 2
pipe v 2
turns t
role load {
    for w in R {
        acquire q
        fill sq[0] 16
        fill sq[1] 16
        for j in N + 1 {
            acquire k
            fill sk[k] 16
            acquire v
            fill sv[v] 16
        }
    }
}
each use 2 g {
    for w in R {
        set acc
        wait q
        wait k
        take t
        gemm_async x, sq[g], sk[k]
        pass t
        gemm_wait 0
        release k
        use x
        set p
        for j in N {
            wait k
            take t
            gemm_async x, sq[g], sk[k]
            set acc
            wait v
            gemm_async acc, %p, sv[v]
            pass t
            gemm_wait 1
            release k
            use x
            gemm_wait 0
            release v
            set p
        }
        wait v
        set acc
        gemm_async acc, %p, sv[v]
        gemm_wait 0
        release v
        use acc
        write sq[g]
        sync
        store sq[g]
        wait_stores 0
        release q
    }
}
";

#[test]
fn the_kernels_of_the_plan_are_right() {
    for kernel in [COOPERATIVE, PING_PONG, ATTENTION] {
        check_text(kernel, expect![""]);
    }
}

#[test]
fn a_kernel_is_checked_between_two_keystrokes() {
    for (name, kernel) in [("cooperative", COOPERATIVE), ("ping-pong", PING_PONG), ("attention", ATTENTION)] {
        let parsed = parse(kernel);
        let start = Instant::now();
        let launches = verdict(&parsed).launches;
        let taken = start.elapsed();
        assert!(taken.as_millis() < 500, "{name}: {launches} launches in {taken:?}");
    }
}
