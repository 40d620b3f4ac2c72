// Colours of the terminal, for both schemes. The page's own stand in page.css.

export const darkTheme = {
  background: "#14181b", foreground: "#d7dde0", cursor: "#d7dde0", cursorAccent: "#14181b",
  selectionBackground: "#3a5560", selectionInactiveBackground: "#2d3c43",
  black: "#262d31", red: "#e8736c", green: "#86c07f", yellow: "#dcb567", blue: "#6ea8e0", magenta: "#c08fd8", cyan: "#5fbcb8", white: "#c6ced2",
  brightBlack: "#6c7a82", brightRed: "#f59089", brightGreen: "#a3d79d", brightYellow: "#efcd88", brightBlue: "#92c1ef", brightMagenta: "#d6aeea", brightCyan: "#84d5d1", brightWhite: "#f3f6f7",
};

export const lightTheme = {
  background: "#fcfcfa", foreground: "#22292d", cursor: "#22292d", cursorAccent: "#fcfcfa",
  selectionBackground: "#bcdcdf", selectionInactiveBackground: "#dde6e7",
  black: "#22292d", red: "#b8322a", green: "#2f7a34", yellow: "#8a6100", blue: "#1f62a8", magenta: "#85409f", cyan: "#14727a", white: "#b9c1c4",
  brightBlack: "#68757b", brightRed: "#cf4a40", brightGreen: "#3f8f44", brightYellow: "#a37709", brightBlue: "#3a7cc4", brightMagenta: "#9d58b6", brightCyan: "#278b93", brightWhite: "#8d979b",
};
