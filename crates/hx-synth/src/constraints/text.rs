//! Prints constraints in the paper's notation.

use hx_tile::{Base, Demand, OpId, TensorId, TensorKind};

use super::{Constraint, Demanded, System};

impl System<'_> {
    /// Returns every constraint with its operation. A pin is listed with the first operation that uses the pinned tensor.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let mut out = Vec::new();
        for demanded in &self.constraints {
            let Some(op) = demanded.op.or_else(|| self.meets(&demanded.constraint)) else { continue };
            out.extend(self.texts(demanded).into_iter().map(|text| Demand { op, text }));
        }
        out
    }

    fn meets(&self, pin: &Constraint) -> Option<OpId> {
        let Constraint::Pinned { tensor } = pin else { return None };
        let names = |base: &Base| base.tensor().as_ref() == Some(tensor);
        let meets = |d: &&Demanded| match &d.constraint {
            Constraint::Copy { register, memory } => register == tensor || names(memory),
            Constraint::Move { from, to } => names(from) || names(to),
            other => other.registers().contains(tensor),
        };
        self.constraints.iter().filter(|d| d.op.is_some()).find(meets)?.op
    }

    fn name(&self, tensor: TensorId) -> &str {
        &self.program.tensor(tensor).name
    }

    fn memory(&self, base: Base) -> &str {
        self.program.base_name(base)
    }

    /// Returns the equations of a constraint, one string for each.
    fn texts(&self, demanded: &Demanded) -> Vec<String> {
        let text = match &demanded.constraint {
            Constraint::Pinned { tensor } => match &self.program.tensor(*tensor).kind {
                TensorKind::Register { pinned: Some(layout) } => {
                    format!("f_{} = {layout} (pinned)", self.name(*tensor))
                }
                TensorKind::Shared { pinned: Some(layout) } => {
                    format!("m_{} = {} (pinned)", self.name(*tensor), layout.source_form())
                }
                TensorKind::Register { pinned: None } | TensorKind::Shared { pinned: None } => String::new(),
            },
            Constraint::Equal { a, b } => format!("f_{} = f_{}", self.name(*a), self.name(*b)),
            Constraint::Project { from, to, axes } => {
                let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
                format!("f_{} = π_{} ∘ f_{}", self.name(*to), axes.join(","), self.name(*from))
            }
            Constraint::Part { from, to, view, .. } => {
                let at: Vec<String> = view.offsets.iter().map(ToString::to_string).collect();
                let at = at.join(", ");
                format!("f_{} = f_{} at [{at}]", self.name(*to), self.name(*from))
            }
            Constraint::Gemm { c, a, b } => {
                let c = self.name(*c);
                let [a, b] = [a, b].map(|t| t.map(|t| self.name(t)));
                let texts = [
                    a.map(|a| format!("π_M ∘ f_{a} ∘ p_A⁻¹ = π_M ∘ f_{c} ∘ p_C⁻¹")),
                    b.map(|b| format!("π_N ∘ f_{b} ∘ p_B⁻¹ = π_N ∘ f_{c} ∘ p_C⁻¹")),
                    a.zip(b).map(|(a, b)| format!("π_K ∘ f_{a} ∘ p_A⁻¹ = π_K ∘ f_{b} ∘ p_B⁻¹")),
                ];
                return texts.into_iter().flatten().collect();
            }
            Constraint::Copy { register, memory } => {
                format!("f_{} ∘ q⁻¹ = m_{} ∘ p⁻¹", self.name(*register), self.memory(*memory))
            }
            Constraint::Free { from, to } => {
                format!("f_{} free of f_{}", self.name(*to), self.name(*from))
            }
            Constraint::Move { from, to } => {
                format!("m_{} ∘ p⁻¹ = m_{} ∘ p⁻¹", self.memory(*to), self.memory(*from))
            }
        };
        vec![text]
    }
}
