mod build;
mod matmul;
mod staged;
mod wrong;
