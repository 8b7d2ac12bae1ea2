//! The registers of roles: the solver divides them, and the verifier adds them up.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_target::Target;
use hx_tile::{Control, Role, RoleKind, Scope, ScopeId, ScopeKind, Stmt, TileProgram};

use crate::{Solved, role_registers, solve};

/// Returns a program of roles without statements: the kind of each, the number of groups, and the registers of the source.
fn program(target: Target, roles: &[(RoleKind, u32, Option<u32>)]) -> TileProgram {
    let (mut scopes, mut all, mut first) = (vec![Scope::block(0)], Vec::new(), 0);
    for (kind, groups, registers) in roles {
        let scope = ScopeId(scopes.len() as u32);
        scopes.push(Scope { kind: ScopeKind::Role, first, threads: 128 * groups, groups: 1 });
        all.push(Role { scope, kind: *kind, registers: *registers, index: None, body: Vec::new() });
        first += 128 * groups;
    }
    scopes[0] = Scope::block(first);
    let body = vec![Stmt::Control(Control::Roles(all))];
    TileProgram { name: "roles".into(), target, scopes, body, ..TileProgram::default() }
}

#[test]
fn consumers_get_what_producers_spare() {
    use RoleKind::{Consumer, Producer};
    let check = |roles: &[(RoleKind, u32, Option<u32>)], expected: Expect| {
        let program = program(Target::usual(), roles);
        let solved = solve(&program, &|| false).map(|Solved { program: whole, solution, .. }| {
            assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
            format!("{:?}", solution.role_registers)
        });
        expected.assert_eq(&solved.unwrap_or_else(|failure| failure.message));
    };
    check(&[(Producer, 1, None), (Consumer, 2, None)], expect!["{ScopeId(1): 24, ScopeId(2): 240}"]);
    check(&[(Producer, 1, Some(40)), (Consumer, 2, None)], expect!["{ScopeId(1): 40, ScopeId(2): 232}"]);
    // The threads keep what the launch gives them.
    check(&[(Producer, 1, None), (Consumer, 1, None)], expect!["{}"]);
    check(&[(Producer, 1, Some(168)), (Consumer, 2, Some(168))], expect!["{}"]);
    check(
        &[(Producer, 1, Some(32)), (Consumer, 2, Some(240))],
        expect!["found 512 registers for one thread of each group of the roles, expected at most 504"],
    );
    // Threads of older targets cannot pass registers on.
    let older = program(Target::builtin("sm_89"), &[(Producer, 1, None), (Consumer, 2, None)]);
    assert!(role_registers(&older).is_empty());
}

#[test]
fn the_verifier_adds_registers_up() {
    let program =
        program(Target::usual(), &[(RoleKind::Producer, 1, Some(40)), (RoleKind::Consumer, 2, None)]);
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    let check = |registers: &[(u32, u32)], expected: Expect| {
        let mut spoiled = solution.clone();
        spoiled.role_registers = registers
            .iter()
            .map(|(scope, registers)| (ScopeId(*scope), *registers))
            .collect::<BTreeMap<_, _>>();
        let found = hx_verify::verify(&program, &whole, &spoiled);
        expected.assert_eq(&found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    };
    check(&[(1, 40), (2, 232)], expect![]);
    check(
        &[(1, 40), (2, 240)],
        expect!["the roles have 66560 registers, and a launch gives the block 64512"],
    );
    check(&[(1, 40), (2, 228)], expect!["no instruction sets 228 registers"]);
    check(&[(1, 40), (2, 264)], expect!["no instruction sets 264 registers"]);
    check(
        &[(1, 32), (2, 232)],
        expect!["the role of threads 0..128 has 32 registers a thread, and the source gives it 40"],
    );
    check(
        &[(2, 232)],
        expect!["the role of threads 0..128 has 168 registers a thread, and the source gives it 40"],
    );
    check(&[(0, 168), (1, 40)], expect!["scope 0 has registers of its own and is no role"]);
}
