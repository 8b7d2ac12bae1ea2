//! The table of supported GPUs is that of the compiler.

use hx_target::Target;

use super::read;
use crate::support::root;

#[test]
fn the_table_of_gpus_names_their_targets() {
    let page = read(&root().join("book/src/supported.md"));
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect()))
        .collect();
    let mut seen = 0;
    for row in &rows {
        for capability in row[0].split(", ") {
            let numbers = capability.split(' ').next().and_then(|number| number.split_once('.'));
            let Some((major, minor)) = numbers else { continue };
            let (major, minor) = (major.parse().expect("a number"), minor.parse().expect("a number"));
            let target = Target::of_capability(major, minor);
            let told = row[2].trim_matches('`');
            match target {
                Some(target) => assert_eq!(told, target.name(), "{row:?}"),
                None => assert!(told.starts_with("none"), "{row:?}"),
            }
            seen += usize::from(target.is_some());
        }
    }
    assert!(seen >= 5, "{rows:?}");
}
