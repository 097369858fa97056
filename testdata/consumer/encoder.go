// Package encoder stands for a program that writes its own fences: it encodes layers on a
// GPU queue, a reduction for each on the CPU, and what is done with the results.
package encoder

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// waitForOwn makes a reduction wait for the update of its own layer. Without it, it waits
// for all that were scheduled when its wait was encoded, which is the bug.
const waitForOwn = false

// Encode is the schedule of n layers. A buffer is committed behind each layer's kernel, so
// that a layer's update opens the next one.
func Encode(n int) *model.Scenario {
	var buffers []model.BufferFile
	var tasks []string
	open := []string{}
	commit := func() {
		buffers = append(buffers, model.BufferFile{Commands: open})
		open = []string{}
	}
	for i := 1; i <= n; i++ {
		open = append(open, fmt.Sprintf("kernel x%d", i))
		commit()
		open = append(open, fmt.Sprintf("update G %d", i))
	}
	for i := 1; i <= n; i++ {
		target := n
		if waitForOwn {
			target = i
		}
		tasks = append(tasks, fmt.Sprintf("wait G %d", target), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C %d", i))
	}
	for i := 1; i <= n; i++ {
		open = append(open, fmt.Sprintf("wait C %d", i), fmt.Sprintf("kernel y%d reads r%d", i, i))
		commit()
	}
	return &model.Scenario{Version: model.FormatVersion, Name: "encoder", Schedule: &model.ScheduleFile{
		Queues:  []model.QueueFile{{Name: "gpu", Buffers: buffers}},
		Streams: []model.TaskFile{{Name: "cpu", Tasks: tasks}},
	}}
}
