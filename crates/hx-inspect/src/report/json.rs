//! A report as JSON, for programs: a script compares it with the counters of a GPU.

use hx_sim::Counters;
use hx_tile::Resource;
use serde_json::{Map, Value, json};

use super::{KernelReport, Note, Row, Spot};

impl KernelReport {
    /// Returns the report as a JSON object.
    pub fn json(&self) -> Value {
        let mut total = counters(&self.total());
        total.insert("cycles".to_owned(), json!(self.cycles));
        json!({
            "kernel": self.kernel,
            "target": self.target.name(),
            "launches": self.launches,
            "blocks": self.blocks,
            "threads": self.threads,
            "barriers": self.barriers,
            "operations": self.rows.iter().map(|row| self.operation(row)).collect::<Vec<_>>(),
            "other": counters(&self.other),
            "total": total,
            "notes": self.notes.iter().map(note).collect::<Vec<_>>(),
        })
    }

    fn operation(&self, row: &Row) -> Value {
        let mut object = Map::new();
        object.insert("op".to_owned(), row.op.0.into());
        object.insert("text".to_owned(), row.title.clone().into());
        object.insert("place".to_owned(), self.place(row.spot));
        object.insert("calls".to_owned(), row.calls.iter().map(|call| self.place(*call)).collect());
        object.insert("rows".to_owned(), row.instructions.clone().into());
        object.insert("moves".to_owned(), row.moves.word().into());
        object.extend(counters(&row.counters));
        object.insert("cycles".to_owned(), json!(row.cycles.threads));
        object.insert("share".to_owned(), json!(self.share(row.cycles.threads)));
        let taken = Resource::ALL.map(|resource| (resource, row.cycles.resources[resource]));
        let taken = taken.into_iter().filter(|(_, cycles)| *cycles > 0.0);
        let taken: Map<_, _> =
            taken.map(|(resource, cycles)| (resource.word().to_owned(), json!(cycles))).collect();
        object.insert("units".to_owned(), taken.into());
        object.insert("remarks".to_owned(), row.advice.remarks(&row.counters).into());
        object.into()
    }

    fn place(&self, spot: Spot) -> Value {
        let part = &self.parts[spot.part];
        json!({ "path": part.path, "item": part.name, "line": spot.line, "column": spot.column })
    }
}

fn note(note: &Note) -> Value {
    json!({
        "code": note.code,
        "place": { "path": note.path, "line": note.line, "column": note.column },
        "message": note.message,
        "notes": note.notes,
        "help": note.help,
    })
}

fn counters(c: &Counters) -> Map<String, Value> {
    let named = [
        ("instructions", c.instructions),
        ("bytes", c.bytes),
        ("redundant_bytes", c.redundant_bytes),
        ("requests", c.requests),
        ("sectors", c.sectors),
        ("ideal_sectors", c.ideal_sectors),
        ("wavefronts", c.wavefronts),
        ("ideal_wavefronts", c.ideal_wavefronts),
        ("unwaited", c.unwaited),
        ("written_requests", c.written.requests),
        ("written_sectors", c.written.sectors),
        ("written_wavefronts", c.written.wavefronts),
        ("written_ideal_wavefronts", c.written.ideal_wavefronts),
    ];
    named.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}
