package loader

import (
	"testing"

	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// Slots of one lane are handed out in their order, also where they get done while the oldest
// one is looked for; slots without a lane as they get done.
func TestLanesKeepTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		lanes []int
		done  []bool // when each is looked at
		want  int
		ok    bool
	}{
		"one lane, both done meanwhile":  {[]int{0, 0}, []bool{false, true}, 0, true},
		"two lanes, two done meanwhile":  {[]int{1, 0, 1, 0}, []bool{false, false, true, true}, 0, true},
		"the other lane is done":         {[]int{1, 0, 1, 0}, []bool{false, true, false, false}, 1, true},
		"the lane of the fourth is done": {[]int{1, 0, 1, 0}, []bool{false, false, false, true}, 1, true},
		"no lanes":                       {[]int{protocol.AnyLane, protocol.AnyLane}, []bool{false, true}, 1, true},
		"the oldest":                     {[]int{0, 0}, []bool{true, true}, 0, true},
		"none":                           {[]int{0, protocol.AnyLane}, []bool{false, false}, 0, false},
	} {
		at, ok := oldestDone(len(c.lanes), func(i int) int { return c.lanes[i] }, func(i int) bool { return c.done[i] })
		if at != c.want || ok != c.ok {
			t.Errorf("%s: slot %d (%t), want %d", name, at, ok, c.want)
		}
	}
}
