//! What scripts draw beside the text: images, SVG, HTML and canvases, each on one terminal's surface.

use std::collections::BTreeMap;

use crate::limits::{PANEL_BYTES_ALL_MAX, PANEL_BYTES_MAX, PANELS_MAX, SURFACE_PANEL_BYTES_MAX};

/// How a panel's content is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// A picture in a file format.
    Image,
    /// UTF-8.
    Svg,
    /// UTF-8.
    Html,
    /// A picture in a file format, drawn on a canvas.
    Canvas2d,
}

impl PanelKind {
    /// Whether the content is text; else it is bytes.
    pub fn is_text(self) -> bool {
        matches!(self, PanelKind::Svg | PanelKind::Html)
    }
}

/// What a panel's place is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The pane; it has a frame.
    Float,
    /// The text; it scrolls with it.
    Inline,
    /// The pane, above everything.
    Overlay,
    /// The pane; it has no frame.
    Fixed,
}

/// A side of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    /// As large as the content.
    Auto,
    /// CSS pixels, 0..=[`crate::limits::PANEL_PIXELS_MAX`].
    Pixels(f64),
}

/// One panel. Numbers are finite and in their ranges: whoever parses them sees to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Never changed.
    pub kind: PanelKind,
    /// CSS pixels from the left, ±[`crate::limits::PANEL_PIXELS_MAX`].
    pub x: f64,
    /// CSS pixels from the top.
    pub y: f64,
    /// How wide.
    pub width: Side,
    /// How high.
    pub height: Side,
    /// What `x` and `y` are relative to.
    pub position: Position,
    /// Its script hears of the mouse.
    pub interactive: bool,
    /// People may move it.
    pub draggable: bool,
    /// People may resize it.
    pub resizable: bool,
    /// Place in the stack, ±[`crate::limits::PANEL_Z_MAX`].
    pub z_index: Option<i32>,
    /// 0.0..=1.0.
    pub opacity: Option<f64>,
    /// File format of a picture, such as `png`.
    pub format: Option<String>,
    /// The content. When the kind [is text](PanelKind::is_text), what is not UTF-8 is shown as U+FFFD.
    pub data: Vec<u8>,
}

/// What is different about a panel: `None` leaves a field.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct PanelPatch {
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub width: Option<Side>,
    pub height: Option<Side>,
    pub position: Option<Position>,
    pub interactive: Option<bool>,
    pub draggable: Option<bool>,
    pub resizable: Option<bool>,
    pub z_index: Option<i32>,
    pub opacity: Option<f64>,
    pub format: Option<String>,
    pub data: Option<Vec<u8>>,
}

/// What the mouse does to an interactive panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Pointer {
    Click,
    Down,
    Up,
    Move,
    Enter,
    Leave,
}

/// What a person does to a panel. Places are relative to its content, except in `DragEnd`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PanelEvent {
    /// `button`: 0 left, 1 middle, 2 right; `buttons`: a bit for each one that is down.
    Pointer { kind: Pointer, x: f64, y: f64, button: u8, buttons: u8 },
    /// The deltas are CSS pixels to scroll by.
    Wheel { x: f64, y: f64, delta_x: f64, delta_y: f64, buttons: u8 },
    /// It was moved to here.
    DragEnd { x: f64, y: f64 },
    /// It is so large now.
    Resize { width: f64, height: f64 },
    /// It was closed: it is cleared for everyone.
    Close,
}

/// What was changed, to be told to everyone.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PanelChange {
    /// New, or a new one in place of the old: tell the whole panel, [`Panels::get`].
    Created {
        surface_id: String,
        id: String,
    },
    /// These fields are different.
    Updated {
        surface_id: String,
        id: String,
        patch: PanelPatch,
    },
    Cleared {
        surface_id: String,
        id: String,
    },
}

/// Why a panel stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelError {
    /// No panel of that id on that surface.
    UnknownPanel,
    /// The surface has [`PANELS_MAX`].
    TooManyPanels,
    /// Its content is over [`PANEL_BYTES_MAX`].
    TooLarge,
    /// Its content does not fit beside the other panels'.
    NoRoom,
    /// It does not say that it is `interactive`, `draggable` or `resizable`.
    Not(&'static str),
}

/// The panels of all surfaces. Which surfaces exist is the caller's to know, who also tells when one is gone
/// ([`Panels::clear_surface`]).
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// In order of creation, which is the order of the stack where `zIndex` is equal.
    surfaces: BTreeMap<String, Vec<(String, Panel)>>,
    bytes: usize,
}

impl Panels {
    /// Every panel: surface, id, panel.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Panel)> {
        self.surfaces.iter().flat_map(|(surface_id, panels)| {
            panels.iter().map(|(id, panel)| (surface_id.as_str(), id.as_str(), panel))
        })
    }

    /// One panel.
    pub fn get(&self, surface_id: &str, id: &str) -> Option<&Panel> {
        let mut panels = self.surfaces.get(surface_id)?.iter();
        panels.find_map(|(known, panel)| (known == id).then_some(panel))
    }

    /// Whether the surface has a panel.
    pub fn are_on(&self, surface_id: &str) -> bool {
        self.surfaces.contains_key(surface_id)
    }

    /// Makes a panel. One with the same id is replaced, and goes to the top.
    ///
    /// # Errors
    /// [`PanelError::TooManyPanels`], [`PanelError::TooLarge`], [`PanelError::NoRoom`].
    pub fn put(&mut self, surface_id: &str, id: &str, panel: Panel) -> Result<PanelChange, PanelError> {
        let former = self.get(surface_id, id).map(|panel| panel.data.len());
        let full = self.surfaces.get(surface_id).is_some_and(|panels| panels.len() >= PANELS_MAX);
        if former.is_none() && full {
            return Err(PanelError::TooManyPanels);
        }
        self.make_room(surface_id, former.unwrap_or(0), panel.data.len())?;
        let panels = self.surfaces.entry(surface_id.to_owned()).or_default();
        panels.retain(|(known, _)| known != id);
        panels.push((id.to_owned(), panel));
        Ok(PanelChange::Created { surface_id: surface_id.to_owned(), id: id.to_owned() })
    }

    /// Changes the given fields of a panel. `None` when everything was so already.
    ///
    /// # Errors
    /// [`PanelError::UnknownPanel`], [`PanelError::TooLarge`], [`PanelError::NoRoom`].
    pub fn update(
        &mut self,
        surface_id: &str,
        id: &str,
        patch: PanelPatch,
    ) -> Result<Option<PanelChange>, PanelError> {
        let former = self.get(surface_id, id).ok_or(PanelError::UnknownPanel)?.data.len();
        if let Some(data) = &patch.data {
            self.make_room(surface_id, former, data.len())?;
        }
        let panel = self.get_mut(surface_id, id).ok_or(PanelError::UnknownPanel)?;
        let patch = PanelPatch {
            x: differ(&mut panel.x, patch.x),
            y: differ(&mut panel.y, patch.y),
            width: differ(&mut panel.width, patch.width),
            height: differ(&mut panel.height, patch.height),
            position: differ(&mut panel.position, patch.position),
            interactive: differ(&mut panel.interactive, patch.interactive),
            draggable: differ(&mut panel.draggable, patch.draggable),
            resizable: differ(&mut panel.resizable, patch.resizable),
            z_index: differ(&mut panel.z_index, patch.z_index.map(Some)).flatten(),
            opacity: differ(&mut panel.opacity, patch.opacity.map(Some)).flatten(),
            format: differ(&mut panel.format, patch.format.map(Some)).flatten(),
            data: differ(&mut panel.data, patch.data),
        };
        let changed = patch != PanelPatch::default();
        Ok(changed.then(|| PanelChange::Updated {
            surface_id: surface_id.to_owned(),
            id: id.to_owned(),
            patch,
        }))
    }

    /// Removes a panel.
    ///
    /// # Errors
    /// [`PanelError::UnknownPanel`].
    pub fn clear(&mut self, surface_id: &str, id: &str) -> Result<PanelChange, PanelError> {
        let panels = self.surfaces.get_mut(surface_id).ok_or(PanelError::UnknownPanel)?;
        let at = panels.iter().position(|(known, _)| known == id).ok_or(PanelError::UnknownPanel)?;
        self.bytes -= panels.remove(at).1.data.len();
        if panels.is_empty() {
            self.surfaces.remove(surface_id);
        }
        Ok(PanelChange::Cleared { surface_id: surface_id.to_owned(), id: id.to_owned() })
    }

    /// Removes every panel of a surface.
    pub fn clear_surface(&mut self, surface_id: &str) -> Vec<PanelChange> {
        let panels = self.surfaces.remove(surface_id).unwrap_or_default();
        let cleared = panels.into_iter().map(|(id, panel)| {
            self.bytes -= panel.data.len();
            PanelChange::Cleared { surface_id: surface_id.to_owned(), id }
        });
        cleared.collect()
    }

    /// A person did this to a panel. Moving, resizing and closing change it for everyone; the event itself is
    /// for the script, in every case but an error.
    ///
    /// # Errors
    /// [`PanelError::UnknownPanel`], [`PanelError::Not`].
    pub fn interact(
        &mut self,
        surface_id: &str,
        id: &str,
        event: &PanelEvent,
    ) -> Result<Option<PanelChange>, PanelError> {
        let panel = self.get(surface_id, id).ok_or(PanelError::UnknownPanel)?;
        let may = |flag: bool, name: &'static str| if flag { Ok(()) } else { Err(PanelError::Not(name)) };
        let patch = match *event {
            PanelEvent::Pointer { .. } | PanelEvent::Wheel { .. } => {
                return may(panel.interactive, "interactive").map(|()| None);
            }
            PanelEvent::DragEnd { x, y } => {
                may(panel.draggable, "draggable")?;
                PanelPatch { x: Some(x), y: Some(y), ..PanelPatch::default() }
            }
            PanelEvent::Resize { width, height } => {
                may(panel.resizable, "resizable")?;
                let (width, height) = (Some(Side::Pixels(width)), Some(Side::Pixels(height)));
                PanelPatch { width, height, ..PanelPatch::default() }
            }
            PanelEvent::Close => return self.clear(surface_id, id).map(Some),
        };
        self.update(surface_id, id, patch)
    }

    /// Counts content of `now` bytes in place of `former`.
    fn make_room(&mut self, surface_id: &str, former: usize, now: usize) -> Result<(), PanelError> {
        if now > PANEL_BYTES_MAX {
            return Err(PanelError::TooLarge);
        }
        let panels = self.surfaces.get(surface_id).map(Vec::as_slice).unwrap_or_default();
        let on_surface: usize = panels.iter().map(|(_, panel)| panel.data.len()).sum();
        let all = self.bytes - former + now;
        if on_surface - former + now > SURFACE_PANEL_BYTES_MAX || all > PANEL_BYTES_ALL_MAX {
            return Err(PanelError::NoRoom);
        }
        self.bytes = all;
        Ok(())
    }

    fn get_mut(&mut self, surface_id: &str, id: &str) -> Option<&mut Panel> {
        let mut panels = self.surfaces.get_mut(surface_id)?.iter_mut();
        panels.find_map(|(known, panel)| (known == id).then_some(panel))
    }
}

/// Sets a field; what it is now, when that is another value than before.
fn differ<T: Clone + PartialEq>(field: &mut T, value: Option<T>) -> Option<T> {
    let value = value.filter(|value| value != field)?;
    field.clone_from(&value);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(bytes: usize) -> Panel {
        Panel {
            kind: PanelKind::Svg,
            x: 1.0,
            y: 2.0,
            width: Side::Pixels(400.0),
            height: Side::Auto,
            position: Position::Float,
            interactive: false,
            draggable: true,
            resizable: true,
            z_index: None,
            opacity: None,
            format: None,
            data: vec![b'x'; bytes],
        }
    }

    fn ids(panels: &Panels) -> Vec<(&str, &str)> {
        panels.iter().map(|(surface, id, _)| (surface, id)).collect()
    }

    /// The patch that is told.
    fn told(change: Result<Option<PanelChange>, PanelError>) -> PanelPatch {
        match change.unwrap().unwrap() {
            PanelChange::Updated { patch, .. } => patch,
            other => panic!("{other:?}"),
        }
    }

    fn with_one() -> Panels {
        let mut panels = Panels::default();
        panels.put("s", "a", svg(10)).unwrap();
        panels
    }

    #[test]
    fn an_update_merges_and_tells_only_what_is_different() {
        let mut panels = with_one();
        let patch = PanelPatch { x: Some(200.0), y: Some(2.0), z_index: Some(3), ..PanelPatch::default() };
        let different = PanelPatch { x: Some(200.0), z_index: Some(3), ..PanelPatch::default() };
        assert_eq!(told(panels.update("s", "a", patch.clone())), different);
        assert_eq!(panels.update("s", "a", patch), Ok(None));
        let now = panels.get("s", "a").unwrap();
        assert_eq!((now.x, now.y, now.z_index, now.data.len()), (200.0, 2.0, Some(3), 10));
        assert_eq!(panels.update("s", "b", PanelPatch::default()), Err(PanelError::UnknownPanel));
    }

    #[test]
    fn a_burst_of_updates_is_applied_in_order() {
        let mut panels = with_one();
        for n in 1..=16 {
            let data = Some(vec![n; usize::from(n)]);
            let patch = PanelPatch { x: Some(f64::from(n) * 10.0), data, ..PanelPatch::default() };
            assert_eq!(told(panels.update("s", "a", patch.clone())), patch);
        }
        assert_eq!((panels.get("s", "a").unwrap().x, panels.bytes), (160.0, 16));
    }

    #[test]
    fn a_panel_of_the_same_id_is_replaced_and_comes_to_the_top() {
        let mut panels = with_one();
        panels.put("s", "b", svg(1)).unwrap();
        panels.put("t", "a", svg(1)).unwrap();
        panels.put("s", "a", Panel { kind: PanelKind::Html, ..svg(4) }).unwrap();
        assert_eq!(ids(&panels), [("s", "b"), ("s", "a"), ("t", "a")]);
        assert_eq!((panels.get("s", "a").unwrap().kind, panels.bytes), (PanelKind::Html, 6));
    }

    #[test]
    fn dragging_resizing_and_closing_change_the_panel_for_everyone() {
        let mut panels = with_one();
        let drag = PanelEvent::DragEnd { x: 300.0, y: 400.0 };
        let moved = PanelPatch { x: Some(300.0), y: Some(400.0), ..PanelPatch::default() };
        assert_eq!(told(panels.interact("s", "a", &drag)), moved);
        let resize = PanelEvent::Resize { width: 600.0, height: 400.0 };
        let resized = PanelPatch {
            width: Some(Side::Pixels(600.0)),
            height: Some(Side::Pixels(400.0)),
            ..PanelPatch::default()
        };
        assert_eq!(told(panels.interact("s", "a", &resize)), resized);
        let cleared = PanelChange::Cleared { surface_id: "s".into(), id: "a".into() };
        assert_eq!(panels.interact("s", "a", &PanelEvent::Close), Ok(Some(cleared)));
        assert_eq!(panels.interact("s", "a", &PanelEvent::Close), Err(PanelError::UnknownPanel));
        assert_eq!(panels.bytes, 0);
    }

    #[test]
    fn a_panel_hears_only_of_what_it_allows() {
        let mut panels = with_one();
        let click = PanelEvent::Pointer { kind: Pointer::Click, x: 1.0, y: 1.0, button: 0, buttons: 1 };
        assert_eq!(panels.interact("s", "a", &click), Err(PanelError::Not("interactive")));
        let flags = PanelPatch {
            interactive: Some(true),
            draggable: Some(false),
            resizable: Some(false),
            ..PanelPatch::default()
        };
        panels.update("s", "a", flags).unwrap();
        assert_eq!(panels.interact("s", "a", &click), Ok(None));
        let drag = PanelEvent::DragEnd { x: 0.0, y: 0.0 };
        assert_eq!(panels.interact("s", "a", &drag), Err(PanelError::Not("draggable")));
        let resize = PanelEvent::Resize { width: 1.0, height: 1.0 };
        assert_eq!(panels.interact("s", "a", &resize), Err(PanelError::Not("resizable")));
    }

    #[test]
    fn content_and_number_of_panels_are_bounded() {
        let mut panels = with_one();
        assert_eq!(panels.put("s", "b", svg(PANEL_BYTES_MAX + 1)), Err(PanelError::TooLarge));
        let larger = PanelPatch { data: Some(vec![0; PANEL_BYTES_MAX + 1]), ..PanelPatch::default() };
        assert_eq!(panels.update("s", "a", larger), Err(PanelError::TooLarge));
        let whole = SURFACE_PANEL_BYTES_MAX / PANEL_BYTES_MAX;
        for n in 1..whole {
            panels.put("s", &n.to_string(), svg(PANEL_BYTES_MAX)).unwrap();
        }
        assert_eq!(panels.put("s", "last", svg(PANEL_BYTES_MAX)), Err(PanelError::NoRoom));
        // The same content in place of the old one fits.
        panels.put("s", "1", svg(PANEL_BYTES_MAX)).unwrap();
        panels.put("s", "last", svg(PANEL_BYTES_MAX - 10)).unwrap();
        assert_eq!(panels.bytes, SURFACE_PANEL_BYTES_MAX);
        for surface in ["t", "u", "v"] {
            for n in 0..whole {
                panels.put(surface, &n.to_string(), svg(PANEL_BYTES_MAX)).unwrap();
            }
        }
        assert_eq!(panels.put("w", "a", svg(1)), Err(PanelError::NoRoom));
        assert_eq!(panels.clear_surface("u").len(), whole);
        assert_eq!(panels.clear_surface("u"), []);
        panels.put("w", "a", svg(1)).unwrap();

        let mut panels = Panels::default();
        for n in 0..PANELS_MAX {
            panels.put("s", &n.to_string(), svg(0)).unwrap();
        }
        assert_eq!(panels.put("s", "more", svg(0)), Err(PanelError::TooManyPanels));
        panels.put("s", "7", svg(1)).unwrap();
        panels.clear("s", "8").unwrap();
        panels.put("s", "more", svg(0)).unwrap();
    }
}
