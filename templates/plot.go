package templates

// Plot is a chart of the last hour. Positions are percentages as SVG writes them: "27.5%".
type Plot struct {
	Title string
	// Story tells what the chart shows, for those who do not see it.
	Story  string
	Legend []LegendItem
	// ViewBox is the size of the data's own coordinates, X and Y the axes.
	ViewBox string
	Y, X    []PlotTick
	Paths   []PlotPath
	Marks   []PlotMark
	// Note takes the place of the data when there is none.
	Note string
}

// LegendItem names a series and gives its value now. Kind is "bar", "line" or "dash".
type LegendItem struct{ Class, Kind, Label, Value string }

// PlotTick is a label of an axis. Anchor is "", "mid" or "e".
type PlotTick struct{ At, Label, Anchor string }

// PlotPath is the data of a series; Class is "fill", "line", "line dash" or "soft" with the state's class.
type PlotPath struct{ Class, D string }

// PlotMark is a limit: a dashed line with its name on it.
type PlotMark struct{ Class, At, Label string }
