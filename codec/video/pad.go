package video

// PadMode says which frame stands for a frame that a video does not have.
type PadMode uint8

// The modes.
const (
	PadNone        PadMode = iota // no frame
	PadConstant                   // a frame of one colour
	PadEdge                       // the nearest frame
	PadReflect101                 // the video goes back and forth; its ends come once
	PadReflect1001                // the video goes back and forth; its ends come twice
)

// padNames are the names of the modes.
var padNames = map[string]PadMode{
	"none": PadNone, "constant": PadConstant, "edge": PadEdge, "repeat": PadEdge,
	"reflect_101": PadReflect101, "reflect": PadReflect101,
	"reflect_1001": PadReflect1001, "symmetric": PadReflect1001,
}

// PadModes are the names that ParsePadMode knows, for messages.
const PadModes = "none, constant, edge (repeat), reflect_1001 (symmetric) or reflect_101 (reflect)"

// ParsePadMode returns the mode that a name stands for.
func ParsePadMode(name string) (m PadMode, ok bool) {
	m, ok = padNames[name]
	return m, ok
}

// Frame returns the frame of a video of n frames that stands for frame i. It returns -1 if no frame
// does.
func (m PadMode) Frame(i, n int) int {
	switch {
	case i >= 0 && i < n:
		return i
	case n < 1 || m <= PadConstant:
		return -1
	case m == PadEdge:
		return min(max(i, 0), n-1)
	case n == 1:
		return 0
	}
	period := 2 * n
	if m == PadReflect101 {
		period -= 2
	}
	i = (i%period + period) % period
	if i >= n {
		i = 2*n - 1 - i
		if m == PadReflect101 {
			i--
		}
	}
	return i
}
