package report

import (
	"cmp"
	"slices"
)

// A layered layout of small directed graphs in the manner of Sugiyama, Tagawa and Toda
// (1981): break cycles, give every node a column, order each column by its neighbours.
//
// Graphviz compiled to WebAssembly (goccy/go-graphviz) lays out better and works without
// cgo. It is not used because it starts its module in the package's init: every command of
// fencesim, drawing or not, would take 50 to 100 ms and 13 MB more, and the program 6 MB
// more, for graphs of 3 to 20 nodes. Tests use it to read the DOT that is written here.

// size is how large a node is drawn, place where its upper left corner is.
type size struct{ W, H int }

type place struct{ X, Y, W, H int }

// arc is an edge by node indexes.
type arc struct{ From, To int }

// layered places nodes of the given sizes in columns so that most arcs lead to the right,
// with gap pixels between columns and between nodes. back[i] tells that arc i leads to the
// left or stays in its column.
func layered(sizes []size, arcs []arc, gapX, gapY int) (places []place, back []bool, width, height int) {
	column := columns(len(sizes), arcs)
	order := make([][]int, slices.Max(append(slices.Clone(column), 0))+1)
	for v, c := range column {
		order[c] = append(order[c], v)
	}
	at := make([]float64, len(sizes)) // position in its column
	settle := func() {
		for _, col := range order {
			for i, v := range col {
				at[v] = float64(i) - float64(len(col)-1)/2
			}
		}
	}
	settle()
	for range 4 {
		for _, col := range order {
			mean := make(map[int]float64)
			for _, v := range col {
				sum, n := 0.0, 0
				for _, a := range arcs {
					if a.From == v && column[a.To] != column[v] {
						sum, n = sum+at[a.To], n+1
					}
					if a.To == v && column[a.From] != column[v] {
						sum, n = sum+at[a.From], n+1
					}
				}
				if mean[v] = at[v]; n > 0 {
					mean[v] = sum / float64(n)
				}
			}
			slices.SortStableFunc(col, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		}
		settle()
	}
	places = make([]place, len(sizes))
	heights := make([]int, len(order))
	for c, col := range order {
		for _, v := range col {
			heights[c] += sizes[v].H + gapY
		}
		heights[c] -= gapY
		height = max(height, heights[c])
	}
	x := 0
	for c, col := range order {
		w, y := 0, (height-heights[c])/2
		for _, v := range col {
			w = max(w, sizes[v].W)
		}
		for _, v := range col {
			places[v] = place{x + (w-sizes[v].W)/2, y, sizes[v].W, sizes[v].H}
			y += sizes[v].H + gapY
		}
		x += w + gapX
	}
	for _, a := range arcs {
		back = append(back, column[a.To] <= column[a.From])
	}
	return places, back, x - gapX, height
}

// columns gives each node the length of the longest path to it, arcs that close a cycle
// left out.
func columns(n int, arcs []arc) []int {
	const fresh, open, closed = 0, 1, 2
	state, column := make([]int, n), make([]int, n)
	closing := make([]bool, len(arcs))
	var visit func(v int)
	visit = func(v int) {
		state[v] = open
		for i, a := range arcs {
			if a.From != v {
				continue
			}
			switch state[a.To] {
			case fresh:
				visit(a.To)
			case open:
				closing[i] = true
			}
		}
		state[v] = closed
	}
	for v := range n {
		if state[v] == fresh {
			visit(v)
		}
	}
	for range n { // without closing arcs the longest path has fewer than n arcs
		for i, a := range arcs {
			if !closing[i] && column[a.To] <= column[a.From] {
				column[a.To] = column[a.From] + 1
			}
		}
	}
	return column
}
