mod build;
mod matmul;
mod rows;
mod size;
mod staged;
mod wrong;
