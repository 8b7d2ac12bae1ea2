//! The hostile project: the planted files, and the markers that show whether one of them ran.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use crate::support::Sandbox;

/// A kernel, tests that ask about machine code, and a program.
pub(crate) const KERNEL: &str = "\
kernel scaled(x: f32[n], y: mut f32[n]) grid [cdiv(n, 256)] threads 128 {
    let [block] = block_idx;
    copy(load(tile(x, [256])[.., block]) * 2.0, tile(y, [256])[.., block]);
}

test \"nothing spills\" {
    let x = arange(f32, 512);
    let y = zeros(f32, [512]);
    scaled(x, y);
    assert(spills() == 0);
    assert_close(y, x * 2.0, ulp: 0);
}

main {
    let y = zeros(f32, [256]);
    scaled(arange(f32, 256), y);
    print(y);
}
";

/// A project in its own folder, below a folder that is equally hostile, with the markers that its files leave when they run.
pub(crate) struct Hostile {
    pub(crate) sandbox: Rc<Sandbox>,
}

impl Hostile {
    pub(crate) fn plant() -> Hostile {
        let hostile = Hostile { sandbox: Rc::new(Sandbox::new()) };
        let sandbox = &hostile.sandbox;
        sandbox.write("p/k.hx", KERNEL.as_bytes());
        sandbox.write("p/sub/deep.hx", KERNEL.as_bytes());
        let manifest = "[package]\nname = \"p\"\n\n[build]\nnvrtc = \"evil/lib\"\n";
        sandbox.write("p/hx.toml", manifest.as_bytes());
        sandbox.write("outside/kept", b"mine");
        // Plant one library and one program in every place below or above a project that was ever searched.
        let planted = hostile.path("planted.so");
        library(&planted, &marking(&hostile.marker("library")));
        for home in [
            "target/cuda",
            "p/target/cuda",
            "p/evil",
            "p/sub/target/cuda",
            "p/.venv/lib/python3.12/site-packages/nvidia/cu13",
        ] {
            for name in [
                "libnvrtc.so.13",
                "libnvrtc-builtins.so.13.0",
                "libcublasLt.so.13",
                "libcuda.so.1",
                "libcuda.so",
            ] {
                hostile.copy(&planted, &format!("{home}/lib/{name}"));
            }
            hostile.program(&format!("{home}/bin/nvdisasm"));
        }
        for name in
            ["p/nvdisasm", "p/hx", "p/hxk", "p/python3", "p/.venv/bin/python3", "p/.venv/bin/nvdisasm"]
        {
            hostile.program(name);
        }
        let module = format!("open({:?}, \"w\")\n", hostile.marker("module"));
        for name in ["pip", "zipfile", "sitecustomize"] {
            sandbox.write(&format!("p/{name}.py"), module.as_bytes());
        }
        hostile
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    /// Returns a `PATH` that begins with folders of the project (relative, absolute, and behind a link), followed by the user's
    /// own.
    pub(crate) fn hostile_path(&self) -> String {
        let link = self.path("link-to-bin");
        let _ = std::os::unix::fs::symlink(self.path("p/.venv/bin"), &link);
        let (venv, own) = (self.path("p/.venv/bin"), std::env::var("PATH").unwrap_or_default());
        format!(".::.venv/bin:{}:{}:{own}", venv.display(), link.display())
    }

    pub(crate) fn has_run(&self) -> bool {
        self.path("markers").read_dir().is_ok_and(|mut entries| entries.next().is_some())
    }

    pub(crate) fn nothing_ran(&self, during: &str) {
        let entries = self.path("markers").read_dir().into_iter().flatten().flatten();
        let names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        assert!(names.is_empty(), "{during}: the project ran its {}", names.join(", "));
    }

    fn marker(&self, name: &str) -> String {
        std::fs::create_dir_all(self.path("markers")).expect("folders can be made");
        self.path("markers").join(name).display().to_string()
    }

    fn copy(&self, from: &Path, to: &str) {
        self.sandbox.write(to, &std::fs::read(from).expect("it was made"));
    }

    fn program(&self, name: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let marker = self.marker("program");
        self.sandbox.write(name, format!("#!/bin/sh\n: > '{marker}'\nexit 1\n").as_bytes());
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), executable).expect("it is ours");
    }
}

/// Returns C code that writes a file as soon as its library is loaded.
fn marking(marker: &str) -> String {
    format!(
        "#include <stdio.h>\n\
         __attribute__((constructor)) static void run(void) {{ FILE *f = fopen(\"{marker}\", \"w\"); if (f) fclose(f); }}\n"
    )
}

/// Compiles C code to a shared library.
pub(crate) fn library(to: &Path, text: &str) {
    std::fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("folders can be made");
    let source = to.with_extension("c");
    std::fs::write(&source, text).expect("files can be written");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(to).arg(&source).status();
    // Linking Rust programs requires `cc`, so it exists.
    assert!(compiled.expect("cc starts").success());
}
