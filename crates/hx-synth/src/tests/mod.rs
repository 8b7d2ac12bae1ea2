mod build;
mod effort;
mod matmul;
mod rows;
mod size;
mod staged;
mod tilings;
mod wrong;
