//! Renders a drawing as lines of text.

use super::Drawing;

impl Drawing {
    /// Renders the drawing with box characters: row numbers at the left, column numbers on top. The text ends with a line break.
    pub fn unicode(&self) -> String {
        let width = self.width().max((self.cols.max(1) - 1).to_string().len());
        let margin = (self.rows.max(1) - 1).to_string().len();
        let mut out = format!("{}\n", self.title);
        out += &self.header(width, margin);
        out += &self.rule(width, margin, ['┌', '┬', '┐']);
        for row in 0..self.rows {
            if row > 0 && row % self.row_step == 0 {
                out += &self.rule(width, margin, ['├', '┼', '┤']);
            }
            out += &format!("{row:>margin$} │");
            for col in 0..self.cols {
                out += if self.breaks_before(col) { " │" } else { "" };
                out += &format!(" {:>width$}", self.cell(row, col).text);
            }
            out += " │\n";
        }
        out += &self.rule(width, margin, ['└', '┴', '┘']);
        out
    }

    fn breaks_before(&self, col: usize) -> bool {
        col > 0 && col.is_multiple_of(self.col_step)
    }

    fn header(&self, width: usize, margin: usize) -> String {
        let mut line = " ".repeat(margin + 2);
        for col in 0..self.cols {
            line += if self.breaks_before(col) { "  " } else { "" };
            line += &format!(" {col:>width$}");
        }
        line + "\n"
    }

    fn rule(&self, width: usize, margin: usize, corners: [char; 3]) -> String {
        let mut line = " ".repeat(margin + 1);
        line.push(corners[0]);
        for col in 0..self.cols {
            if self.breaks_before(col) {
                line.push('─');
                line.push(corners[1]);
            }
            line += &"─".repeat(width + 1);
        }
        line.push('─');
        line.push(corners[2]);
        line + "\n"
    }
}
