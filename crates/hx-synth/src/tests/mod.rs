mod build;
mod matmul;
