//! What was measured, as a table and as JSON.

use serde_json::{Value, json};

use super::line::Subject;

/// Rows are questions, columns are those who were asked; a cell holds one value a round.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    question: String,
    unit: &'static str,
    cells: [Vec<f64>; Subject::ALL.len()],
}

impl Table {
    /// Adds one round's value.
    pub(crate) fn add(&mut self, question: &str, unit: &'static str, subject: Subject, value: f64) {
        let known = self.rows.iter().position(|row| row.question == question);
        let at = known.unwrap_or_else(|| {
            self.rows.push(Row { question: question.to_owned(), unit, cells: Default::default() });
            self.rows.len() - 1
        });
        self.rows[at].cells[subject as usize].push(value);
    }

    /// Medians, and the spread where there was more than one round; `-` for what was not measured.
    pub(crate) fn print(&self) {
        let widest = self.rows.iter().map(|row| row.question.len() + row.unit.len() + 2).max().unwrap_or(0);
        print!("{:widest$}", "");
        for subject in Subject::ALL {
            print!(" | {:>22}", subject.name());
        }
        println!();
        for row in &self.rows {
            print!("{:widest$}", format!("{}, {}", row.question, row.unit));
            for cell in &row.cells {
                print!(" | {:>22}", shown(cell));
            }
            println!();
        }
    }

    pub(crate) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let cells = Subject::ALL.iter().zip(&row.cells).filter(|(_, cell)| !cell.is_empty());
            let cells: serde_json::Map<String, Value> =
                cells.map(|(subject, cell)| (subject.name().to_owned(), json!(cell))).collect();
            json!({ "question": row.question, "unit": row.unit, "rounds": cells })
        });
        Value::Array(rows.collect())
    }
}

fn shown(cell: &[f64]) -> String {
    let number = |value: f64| match value.abs() {
        f64::INFINITY => "never".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    match sorted(cell).as_slice() {
        [] => "-".to_owned(),
        [only] => number(*only),
        all => {
            format!("{} ({}..{})", number(quantile(all, 0.5)), number(all[0]), number(all[all.len() - 1]))
        }
    }
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}
