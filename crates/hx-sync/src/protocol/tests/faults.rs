//! Broken pipelines, and the faults that the machine finds in each.

use expect_test::{Expect, expect};

use super::kernels::{ATTENTION, COOPERATIVE, PING_PONG};
use super::{check_text, text_of};

/// Checks a protocol after a change of its text.
fn check_changed(text: &str, from: &str, to: &str, want: Expect) {
    check_each(text, &[[from, to]], want);
}

/// Checks a protocol after each of these changes of its text, one change at a time.
fn check_each(text: &str, changes: &[[&str; 2]], want: Expect) {
    let change = |[from, to]: &[&str; 2]| {
        assert!(text.contains(from), "{from}");
        text_of(&text.replacen(from, to, 1))
    };
    want.assert_eq(&changes.iter().map(change).collect::<String>());
}

#[test]
fn a_stage_is_never_released() {
    check_changed(
        COOPERATIVE,
        "            release_previous p\n",
        "",
        expect![[r#"
        stuck: `load` at 5 `acquire p` wants a release of p by group 0 of `use`, group 1 of `use`: 0 of 2
        stuck: group 0 of `use` at 14 `wait p` wants a copy into p: stage 5 of 5
          with R = 1, K = 5
          fix: release_previous p after 16 `gemm_wait 1`
    "#]],
    );
    // The next tile gives back the last stage, unless the ring has only one.
    check_changed(COOPERATIVE, "        release p\n", "", expect![""]);
    check_changed(
        &COOPERATIVE.replace("pipe p 4", "pipe p 1"),
        "            gemm_wait 1\n            release_previous p\n        }\n        gemm_wait 0\n        release p\n",
        "            gemm_wait 0\n            release_previous p\n        }\n",
        expect![[r#"
            stuck: `load` at 5 `acquire p` wants a release of p by group 0 of `use`, group 1 of `use`: 0 of 2
            stuck: group 0 of `use` at 14 `wait p` wants a copy into p: stage 2 of 2
              with R = 2, K = 1
              fix: release p after 17 `release_previous p`
        "#]],
    );
    check_changed(
        ATTENTION,
        "            release v\n",
        "",
        expect![[r#"
        stuck: `load` at 13 `acquire v` wants a release of v by group 0 of `use`, group 1 of `use`: 0 of 2
        stuck: group 0 of `use` at 44 `wait v` wants a copy into v: stage 3 of 3
          with R = 1, N + 1 = 3, N = 2
          fix: release v after 42 `set p`
    "#]],
    );
}

#[test]
fn a_stage_is_released_early() {
    check_changed(
        COOPERATIVE,
        "release_previous p",
        "release p",
        expect![[r#"
        in flight: 15 `gemm_async acc, sa[p], sb[p]` released at 17 `release p`
          with R = 1, K = 1
          fix: 16 `gemm_wait 1` leaves 0
    "#]],
    );
    check_changed(
        COOPERATIVE,
        "            gemm_wait 1\n",
        "",
        expect![[r#"
            in flight: 15 `gemm_async acc, sa[p], sb[p]` released at 16 `release_previous p`
              with R = 1, K = 2
              fix: gemm_wait 1 before 16 `release_previous p`
        "#]],
    );
    // The threads read the stage themselves.
    let read = "\
pipe p 2
role load {
    for k in K {
        acquire p
        fill s[p] 16
    }
}
role use {
    for k in K {
        wait p
        release p
        read s[p]
    }
}
";
    check_text(
        read,
        expect![[r#"
        race: 5 `fill s[p] 16` and 12 `read s[p]`, AfterRelease(OpId(11))
          with K = 3
          fix: 11 `release p` behind 12 `read s[p]`
    "#]],
    );
}

#[test]
fn a_stage_is_read_before_its_wait() {
    let early = "\
pipe p 2
role load {
    for k in K {
        acquire p
        fill s[p] 16
    }
}
role use {
    for k in K {
        read s[k % 2]
        wait p
        release p
    }
}
";
    check_text(
        early,
        expect![[r#"
        race: 5 `fill s[p] 16` and 10 `read s[k % 2]`, BeforeWait
          with K = 1
    "#]],
    );
}

#[test]
fn a_stage_is_filled_before_its_release() {
    let early = "\
pipe p 2
role load {
    for k in K {
        acquire p
        fill s[(k + 1) % 2] 16
    }
}
role use {
    for k in K {
        wait p
        read s[p]
        release p
    }
}
";
    check_text(
        early,
        expect![[r#"
        race: 5 `fill s[(k + 1) % 2] 16` and 11 `read s[p]`, BeforeRelease
          with K = 2
    "#]],
    );
}

#[test]
fn stages_are_left_to_others_in_vain() {
    check_each(
        PING_PONG,
        &[["        skip p K\n", ""], ["    skip p g * K\n", ""], ["skip p g * K", "skip p g"]],
        expect![[r#"
            crowded: 25 `release p` by more than 1 groups of p
              with R = 5, K = 1, (R + 1) / 2 = 3
            crowded: 20 `release_previous p` by more than 1 groups of p
              with R = 2, K = 5, (R + 1) / 2 = 1
            crowded: 21 `release_previous p` by more than 1 groups of p
              with R = 2, K = 5, (R + 1) / 2 = 1
        "#]],
    );
}

#[test]
fn an_operand_is_used_in_flight() {
    // The sum is read before the wait.
    check_changed(
        COOPERATIVE,
        "        gemm_wait 0\n",
        "",
        expect![[r#"
        in flight: 15 `gemm_async acc, sa[p], sb[p]` released at 19 `release p`
          with R = 1, K = 1
          fix: gemm_wait 0 before 19 `release p`
          and 1 more
    "#]],
    );
    // The weights are written while they are multiplied.
    check_changed(
        ATTENTION,
        "            gemm_wait 0\n            release v\n            set p\n",
        "            set p\n            gemm_wait 0\n            release v\n",
        expect![[r#"
            in flight: 36 `gemm_async acc, %p, sv[v]` used at 41 `set p`
              with R = 1, N + 1 = 2, N = 1
              fix: 38 `gemm_wait 1` leaves 0
        "#]],
    );
}

#[test]
fn two_ways_bring_different_bytes() {
    check_changed(
        COOPERATIVE,
        "            fill sb[p] 32\n",
        "            if 0 < k {\n                fill sb[p] 32\n            }\n",
        expect![[r#"
            unequal: 48 bytes to p at 8 `fill sb[p] 32`, 16 at 6 `fill sa[p] 16`
              with R = 1, K = 2
        "#]],
    );
}

#[test]
fn a_turn_is_not_passed() {
    check_changed(
        PING_PONG,
        "        pass m\n",
        "",
        expect![[r#"
            stuck: group 1 of `use` at 16 `take m` wants m from group 0 of `use`
            stuck: group 0 of `use` at 16 `take m` wants m from group 1 of `use`
              with R = 5, K = 0, (R + 1) / 2 = 3
              fix: pass m after 35 `pass s`
        "#]],
    );
    check_changed(
        PING_PONG,
        "        take m\n",
        "",
        expect![[r#"
            passed twice: 22 `pass m`
              with R = 5, K = 0, (R + 1) / 2 = 3
            slip: 17 `wait p` of p
              with R = 2, K = 5, (R + 1) / 2 = 1
        "#]],
    );
    // Without the turns, a group whose position is two phases ahead falls through the wait.
    let without = PING_PONG.replace("        take m\n", "").replace("        pass m\n", "");
    check_text(
        &without,
        expect![[r#"
            slip: 17 `wait p` of p
              with R = 2, K = 5, (R + 1) / 2 = 1
        "#]],
    );
}

#[test]
fn groups_disagree_on_a_count() {
    check_changed(
        PING_PONG,
        "(R - g + 1) / 2",
        "(R + 1) / 2",
        expect![[r#"
        stuck: group 1 of `use` at 18 `wait p` wants a copy into p: stage 2 of 1
          with R = 1, K = 1, (R + 1) / 2 = 1
    "#]],
    );
    check_changed(
        ATTENTION,
        "        for j in N {\n            wait k\n",
        "        for j in N + g {\n            wait k\n",
        expect![[r#"
        stuck: group 1 of `use` at 31 `wait k` wants a copy into k: stage 2 of 1
          with R = 1, N + 1 = 1, N = 0
    "#]],
    );
}

#[test]
fn two_pipelines_wait_for_each_other() {
    let crossed = "\
pipe a 1
pipe b 1
role load {
    acquire a
    fill s[a] 16
    for k in K {
        acquire a
        fill s[a] 16
        acquire b
        fill t[b] 16
    }
}
role use {
    for k in K {
        wait a
        wait b
        release a
        release b
    }
}
";
    check_text(
        crossed,
        expect![[r#"
            stuck: `load` at 7 `acquire a` wants a release of a by `use`: 0 of 1
            stuck: `use` at 16 `wait b` wants a copy into b: stage 1 of 1
              with K = 1
        "#]],
    );
    let swapped = "\
pipe a 1
pipe b 1
role one {
    for k in K {
        wait b
        release b
        acquire a
        fill s[a] 16
    }
}
role two {
    for k in K {
        wait a
        release a
        acquire b
        fill t[b] 16
    }
}
";
    check_text(
        swapped,
        expect![[r#"
        stuck: `one` at 5 `wait b` wants a copy into b: stage 1 of 1
        stuck: `two` at 13 `wait a` wants a copy into a: stage 1 of 1
          with K = 1
    "#]],
    );
}

#[test]
fn a_multicast_reads_other_tiles_in_other_blocks() {
    let multicast = "\
pipe p 2
cluster 2
role load {
    for k in K {
        acquire p
        fill sa[p] 16
        fill sb[p] 16 multicast k
    }
    sync_cluster
}
role use {
    for k in K {
        wait p
        gemm acc, sa[p], sb[p]
        release p
    }
    sync_cluster
}
";
    check_text(multicast, expect![""]);
    check_changed(
        multicast,
        "multicast k",
        "multicast block",
        expect![[r#"
        divided: 7 `fill sb[p] 16 multicast block`
          with K = 1
    "#]],
    );
    check_changed(
        multicast,
        "        release p\n",
        "",
        expect![[r#"
        stuck: `load` at 5 `acquire p` wants a release of p by `use`: 0 of 2
        stuck: `use` at 13 `wait p` wants a copy into p: stage 3 of 3
          with K = 3
          fix: release p after 14 `gemm acc, sa[p], sb[p]`
    "#]],
    );
    // The last stage is not waited for: the other block can still be sending.
    check_changed(
        multicast,
        "    for k in K {\n        wait",
        "    for k in K - 1 {\n        wait",
        expect![[r#"
            unwaited: 6 `fill sa[p] 16` into p
              with K = 1, K - 1 = 0
            gone: 7 `fill sb[p] 16 multicast k`
              with K = 1, K - 1 = 0
        "#]],
    );
}

#[test]
fn blocks_share_copies_along_two_axes() {
    let square = "\
pipe p 2
cluster 2 2
role load {
    for k in K {
        acquire p
        fill sa[p] 16 multicast block along 1
        fill sb[p] 16 multicast k along 0
    }
    sync_cluster
}
role use {
    for k in K {
        wait p
        gemm acc, sa[p], sb[p]
        release p
    }
    sync_cluster
}
";
    check_text(square, expect![""]);
    // The tile depends on the place along axis 0, and the copy goes to the blocks along that axis.
    check_changed(
        square,
        "multicast block along 1",
        "multicast block along 0",
        expect![[r#"
        divided: 6 `fill sa[p] 16 multicast block along 0`
          with K = 1
    "#]],
    );
    check_changed(
        square,
        "        release p\n",
        "",
        expect![[r#"
        stuck: `load` at 5 `acquire p` wants a release of p by `use`: 0 of 3
        stuck: `use` at 13 `wait p` wants a copy into p: stage 3 of 3
          with K = 3
          fix: release p after 14 `gemm acc, sa[p], sb[p]`
    "#]],
    );
}

#[test]
fn a_staging_buffer_is_overwritten_while_a_store_reads_it() {
    // An odd number of slices: the buffer of the last one is that of the next tile's first one.
    check_changed(
        PING_PONG,
        "for j in 4",
        "for j in 3",
        expect![[r#"
            race: 34 `store .sc[j % 2]` and 32 `write .sc[j % 2]`, Store
              with R = 5, K = 0, (R + 1) / 2 = 3
              fix: 29 `wait_stores 1` leaves 0
        "#]],
    );
    check_changed(
        COOPERATIVE,
        "            wait_stores 1\n",
        "",
        expect![[r#"
        race: 26 `store sc[(w * 4 + j) % 2]` and 24 `write sc[(w * 4 + j) % 2]`, Store
          with R = 1, K = 0
          fix: wait_stores 1, sync before 24 `write sc[(w * 4 + j) % 2]`
    "#]],
    );
    check_changed(
        COOPERATIVE,
        "            wait_stores 1\n            sync\n",
        "            wait_stores 1\n",
        expect![[r#"
        race: 26 `store sc[(w * 4 + j) % 2]` and 24 `write sc[(w * 4 + j) % 2]`, Store
          with R = 1, K = 0
          fix: sync before 24 `write sc[(w * 4 + j) % 2]`
    "#]],
    );
    check_changed(
        COOPERATIVE,
        "            sync\n            store",
        "            store",
        expect![[r#"
        race: 25 `write sc[(w * 4 + j) % 2]` and 26 `store sc[(w * 4 + j) % 2]`, NoBarrier
          with R = 1, K = 0
          fix: sync before 26 `store sc[(w * 4 + j) % 2]`
    "#]],
    );
    check_changed(
        ATTENTION,
        "        wait_stores 0\n",
        "",
        expect![[r#"
        race: 53 `store sq[g]` and 8 `fill sq[0] 16`, Store
          with R = 2, N + 1 = 1, N = 0
          fix: wait_stores 0 after 53 `store sq[g]`
          and 2 more
    "#]],
    );
}

#[test]
fn a_stage_is_released_by_too_many() {
    check_changed(
        COOPERATIVE,
        "pipe p 4",
        "pipe p 4 readers 1",
        expect![[r#"
        crowded: 20 `release p` by more than 1 groups of p
          with R = 1, K = 1
    "#]],
    );
    check_changed(
        COOPERATIVE,
        "pipe p 4",
        "pipe p 4 readers 3",
        expect![[r#"
            stuck: `load` at 5 `acquire p` wants a release of p by nobody: 2 of 3
            stuck: group 0 of `use` at 14 `wait p` wants a copy into p: stage 5 of 6
              with R = 3, K = 2
        "#]],
    );
}

#[test]
fn copies_in_groups_and_products_by_all_threads() {
    let text = "\
block 2 {
    copy s[0]
    commit
    for k in K {
        wait_copies 0
        sync
        copy s[(k + 1) % 2]
        commit
        gemm_async acc, s[k % 2]
        gemm_wait 0
    }
}
";
    check_text(text, expect![""]);
    // The trace compares the accesses of threads that wait for their product.
    let at_once = text.replace("gemm_async", "gemm").replace("        gemm_wait 0\n", "");
    check_changed(&at_once, "        sync\n", "", expect![""]);
    check_changed(
        text,
        "        sync\n",
        "",
        expect![[r#"
        race: 2 `copy s[0]` and 8 `gemm_async acc, s[k % 2]`, NoBarrier
          with K = 1
          fix: sync before 8 `gemm_async acc, s[k % 2]`
        race: 6 `copy s[(k + 1) % 2]` and 8 `gemm_async acc, s[k % 2]`, NoBarrier
          with K = 2
    "#]],
    );
    check_changed(
        text,
        "        wait_copies 0\n",
        "",
        expect![[r#"
        race: 2 `copy s[0]` and 8 `gemm_async acc, s[k % 2]`, Copy
          with K = 1
          fix: wait_copies 1, sync before 8 `gemm_async acc, s[k % 2]`
          and 1 more
    "#]],
    );
}

#[test]
fn every_block_comes_to_a_sum() {
    let sums = "\
pipe p 2
cluster 2
role load {
    for k in K {
        acquire p
        fill s[p] 16
    }
    sync_cluster
}
role use 2 {
    for k in K {
        wait p
        read s[p]
        release p
        sum_along 0
    }
    sync_cluster
}
";
    assert_eq!(super::text_of(sums), "");
    let missing = |with: &str| {
        let text = super::text_of(&sums.replace("        sum_along 0\n", with));
        assert!(text.starts_with("stuck: ") && text.contains("wants a sum with another block"), "{text}");
        // The blocks that wait at their end follow from the others.
        assert!(!text.contains("a barrier of"), "{text}");
    };
    missing("        if block < 1 {\n            sum_along 0\n        }\n");
    // Sums at two operations do not meet.
    missing(
        "        if block < 1 {\n            sum_along 0\n        } else {\n            sum_along 0\n        }\n",
    );
    // Along another axis there is no other block.
    assert_eq!(super::text_of(&sums.replace("sum_along 0", "sum_along 1")), "");
}
