//! The pictures of the book are the output of the commands beside them.

use expect_test::expect_file;

use crate::support::{Sandbox, root};

/// Every picture `![hx layout show …](file.svg)` equals the command's output with `--svg -`. `UPDATE_EXPECT=1` draws it again.
#[test]
fn pictures_are_what_the_commands_draw() {
    let folder = root().join("book/src");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the book is there") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the page is text");
        for picture in text.split("![hx ").skip(1) {
            let (command, rest) = picture.split_once("](").expect("a picture has a file");
            let file = rest.split(')').next().unwrap_or_default();
            // Every second part is quoted.
            let parts = command.split('\'').enumerate();
            let words = parts.flat_map(|(at, part)| match at % 2 {
                1 => vec![part],
                _ => part.split_whitespace().collect(),
            });
            let args: Vec<&str> = words.chain(["--svg", "-"]).collect();
            let ran = Sandbox::new().run(&args);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
            expect_file![folder.join(file)].assert_eq(&ran.stdout);
            count += 1;
        }
    }
    assert!(count > 0, "the book has no pictures");
}
