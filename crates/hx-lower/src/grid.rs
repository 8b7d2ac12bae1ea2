//! The blocks of a launch: those of the grid and those of a cluster.

use hx_index::Expr;

/// The blocks that the header names.
pub(crate) struct Grid {
    /// The number of blocks along each axis; empty until the header's `grid` is evaluated.
    axes: Vec<Expr>,
    /// The number of blocks of a cluster along each axis.
    cluster: [u32; 3],
    /// The number of axes that the header's `cluster` names.
    cluster_axes: usize,
}

impl Grid {
    /// Returns the state before the header is evaluated.
    pub(crate) fn new() -> Grid {
        Grid { axes: Vec::new(), cluster: [1; 3], cluster_axes: 0 }
    }

    /// Sets the number of blocks along each axis.
    pub(crate) fn set(&mut self, axes: Vec<Expr>) {
        self.axes = axes;
    }

    /// Sets the blocks of a cluster along each axis, of which the header names the first `axes`.
    pub(crate) fn set_cluster(&mut self, cluster: [u32; 3], axes: usize) {
        (self.cluster, self.cluster_axes) = (cluster, axes);
    }

    /// Returns the number of blocks along each axis; nothing while the header is evaluated.
    pub(crate) fn axes(&self) -> &[Expr] {
        &self.axes
    }

    /// Returns the number of all blocks.
    pub(crate) fn blocks(&self) -> Expr {
        self.axes.iter().fold(Expr::constant(1), |blocks, axis| &blocks * axis)
    }

    /// Returns the number of blocks of a cluster along each axis.
    pub(crate) fn cluster(&self) -> [u32; 3] {
        self.cluster
    }

    /// Returns the number of axes that the header's `cluster` names.
    pub(crate) fn cluster_axes(&self) -> usize {
        self.cluster_axes
    }

    /// Reports whether a cluster has several blocks.
    pub(crate) fn has_clusters(&self) -> bool {
        self.cluster != [1; 3]
    }
}
