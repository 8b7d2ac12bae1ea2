mod build;
mod matmul;
mod rows;
mod staged;
mod wrong;
