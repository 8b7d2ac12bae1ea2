//! The door of the module: a class of JavaScript with one method. Panics go to the page's console.

use wasm_bindgen::prelude::wasm_bindgen;

/// A [`crate::Playground`] for JavaScript.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Playground(crate::Playground);

#[wasm_bindgen]
impl Playground {
    /// Makes a playground without a text, and sends panics to the console of the page.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript has constructors only")]
    pub fn new() -> Playground {
        console_error_panic_hook::set_once();
        Playground(crate::Playground::new())
    }

    /// Answers a request in JSON with JSON; see [`crate::Playground::answer`].
    pub fn answer(&mut self, request: &str) -> String {
        self.0.answer(request)
    }
}
