package check

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"
)

// historyTime bounds the search for the orders that a picture shows.
const historyTime = 5 * time.Second

// WriteHistory writes h as porcupine's picture of it, a self-contained HTML page: each
// agent a row, each operation a bar from its call to its return, and the longest orders
// that explain a part of it. A history too long to be drawn is an error.
func WriteHistory(w io.Writer, h *History) error {
	const most = 5000
	if len(h.Ops) > most {
		return fmt.Errorf("a history of %d operations: a picture of more than %d serves nobody", len(h.Ops), most)
	}
	m := h.model()
	_, info := porcupine.CheckOperationsVerbose(m, porcupineOps(h.Ops), historyTime)
	notes := make([]porcupine.Annotation, 0, len(h.Ops))
	for _, op := range h.Ops {
		if op.Return == Pending {
			notes = append(notes, porcupine.Annotation{ClientId: op.Client, Start: op.Call, End: op.Call,
				Description: h.Objects[op.Object].Name + ": " + op.String() + " never arrives", BackgroundColor: "#eeeeee", TextColor: "#555555"})
		}
	}
	info.AddAnnotations(notes)
	var b bytes.Buffer
	if err := porcupine.Visualize(m, info, &b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
