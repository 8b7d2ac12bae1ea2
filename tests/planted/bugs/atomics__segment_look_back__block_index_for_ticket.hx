// planted: HX0620 in orders
// The tile of a block is its index and not its ticket. Blocks need not begin in the order of their index: a block may wait for
// one that waits for a free multiprocessor. Shows on large grids, depending on the device's order: a hang.
/// The running maximum of a vector in one launch and one pass: y[i] = max(x[0..=i]). Tickets give out the tiles; `state[t]` says what is known of tile
/// `t`: 0 nothing, 1 its own maximum in `own`, 2 the maximum up to its end in `upto`. State and ticket are 0 before a launch.
kernel running_maximum<B = 256>(
    x: f32[n],
    y: mut f32[n],
    ticket: mut i32[1],
    state: mut i32[t],
    own: mut f32[t],
    upto: mut f32[t],
)
    where t == cdiv(n, B)
    grid [t]
    threads 64
{
    let one = register_tensor(i32, [1]);
    fill(one, 1);
    let mine = block_idx;
    let v = load(tile(x, [B], pad: -inf)[.., mine]);
    let running = scan(v, axis: 0, op: |a, b| max(a, b));
    let last = running[B - 1..B];
    let before = register_tensor(f32, [1]);
    fill(before, -inf);
    if mine > 0 {
        copy(last, tile(own, [1])[.., mine]);
        atomic_store(tile(state, [1])[.., mine], one, order: "release");
        let at = mine - 1;
        while at >= 0 {
            let known = scalar(atomic_load(tile(state, [1])[.., at], order: "acquire"));
            if known == 2 {
                before = max(before, load(tile(upto, [1])[.., at]));
                at = -1;
            }
            if known == 1 {
                before = max(before, load(tile(own, [1])[.., at]));
                at = at - 1;
            }
        }
    }
    copy(max(before, last), tile(upto, [1])[.., mine]);
    atomic_store(tile(state, [1])[.., mine], one + 1, order: "release");
    copy(max(running, before), tile(y, [B])[.., mine]);
}

test "running maxima" for n in [256, 1000, 5000, 1] {
    let x = cast(randn(f32, [n], seed: n) - 3.0, f32);
    let tiles = cdiv(n, 256);
    let (y, ticket, state) = (empty(f32, [n]), zeros(i32, [1]), zeros(i32, [tiles]));
    let (own, upto) = (empty(f32, [tiles]), empty(f32, [tiles]));
    running_maximum(x, y, ticket, state, own, upto);
    assert_eq(y, scan(x, axis: 0, op: |a, b| max(a, b)));
}
