package video

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
)

// bounds are the start and the end of a part of a video, as a list says them.
type bounds struct {
	start, end     float64 // NaN where the list says none
	seconds        bool
	startUp, endUp bool
}

var whole = bounds{start: math.NaN(), end: math.NaN()}

// roundings are the values of file_list_rounding: whether the start and the end are rounded up.
var roundings = map[string][2]bool{
	"start_down_end_up": {false, true}, "start_up_end_down": {true, false}, "all_up": {true, true}, "all_down": {false, false},
}

// checkList checks the arguments about file_list.
func checkList(c *op.Config) error {
	format, rounding := op.Get[string](c, "file_list_format"), op.Get[string](c, "file_list_rounding")
	if format != "frames" && format != "timestamps" {
		return c.Invalid("file_list_format", "frames or timestamps", format, "")
	}
	if _, ok := roundings[rounding]; !ok {
		return c.Invalid("file_list_rounding", "start_down_end_up, start_up_end_down, all_up or all_down", rounding, "")
	}
	return nil
}

// frames returns the frames of the part, from start up to end. A part that begins after its end is
// empty.
func (b bounds) frames(x *video.Index) (start, end int) {
	n := x.Frames()
	place := func(v float64, up bool, otherwise int) int {
		switch {
		case math.IsNaN(v):
			return otherwise
		case b.seconds:
			return x.FrameAt(v, up)
		case up:
			v = math.Ceil(v)
		default:
			v = math.Floor(v)
		}
		if v < 0 {
			v += float64(n)
		}
		return int(math.Min(math.Max(v, 0), float64(n)))
	}
	return place(b.start, b.startUp, 0), place(b.end, b.endUp, n)
}

// listEntries lists the videos that the arguments name.
func listEntries(ctx context.Context, c *op.Config) ([]entry, error) {
	if root := op.Get[string](c, "file_root"); root != "" {
		return walk(ctx, root)
	}
	if list := op.Get[string](c, "file_list"); list != "" {
		return readList(ctx, c, list)
	}
	names, labels := op.Get[[]string](c, "filenames"), op.Get[[]int](c, "labels")
	entries := make([]entry, len(names))
	for i, name := range names {
		entries[i] = entry{path: name, part: whole}
		if len(labels) > 0 {
			entries[i].label = int32(labels[i])
		}
	}
	return entries, nil
}

// walk lists the videos in the folders of a directory.
func walk(ctx context.Context, root string) ([]entry, error) {
	names, err := folders.Names(ctx, readerName, root)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
	lists, err := folders.List(ctx, readerName, root, names,
		func(name string) bool { return !strings.HasPrefix(name, ".") && isVideo(name) })
	if err != nil {
		return nil, err
	}
	var entries []entry
	seen := 0
	for label := range lists {
		seen += lists[label].Seen
		for _, e := range lists[label].Files {
			if e.Size >= 0 {
				entries = append(entries, entry{path: root + "/" + names[label] + "/" + lists[label].Name(e),
					label: int32(label), part: whole})
			}
		}
	}
	if len(entries) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: readerName, Subject: root,
			Want: "a folder with a video for each label",
			Got:  fmt.Sprintf("no video among %d files in %d folders", seen, len(names))}
	}
	return entries, nil
}

// maxListLine bounds the length of a line of a list.
const maxListLine = 1 << 16

// readList lists the parts of videos in a file. Each line is a path, a label, and the start and the
// end, if they are given. A path is relative to the working directory.
func readList(ctx context.Context, c *op.Config, list string) ([]entry, error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, folders.Error(readerName, list, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	round := roundings[op.Get[string](c, "file_list_rounding")]
	part := bounds{start: math.NaN(), end: math.NaN(), seconds: op.Get[string](c, "file_list_format") == "timestamps",
		startUp: round[0], endUp: round[1]}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxListLine)
	var entries []entry
	for number := 1; lines.Scan(); number++ {
		if err := ctx.Err(); err != nil {
			return nil, folders.Error(readerName, list, err)
		}
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		e, err := parseEntry(fields, part)
		if err != nil {
			return nil, errs.Wrap(readerName, fmt.Sprintf("%s, line %d", list, number), err)
		}
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: readerName, Subject: list,
			Want: fmt.Sprintf("lines of at most %d bytes", maxListLine), Err: err}
	}
	if len(entries) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: readerName, Subject: list,
			Want: "at least one line with a path and its label", Got: "no line"}
	}
	return entries, nil
}

// parseEntry reads the fields of a line.
func parseEntry(fields []string, part bounds) (entry, error) {
	bad := func(want string) (entry, error) {
		return entry{}, &errs.Error{Kind: errs.Invalid, Want: want, Got: strconv.Quote(strings.Join(fields, " "))}
	}
	if len(fields) < 2 || len(fields) > 4 {
		return bad("a path without spaces, a label, and a start and an end or none")
	}
	label, err := strconv.ParseUint(fields[1], 10, 31)
	if err != nil {
		return bad("a label from 0 to 2147483647 after the path")
	}
	for i, to := range []*float64{&part.start, &part.end} {
		if len(fields) <= 2+i {
			break
		}
		v, err := strconv.ParseFloat(fields[2+i], 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return bad("a start and an end that are numbers")
		}
		*to = v
	}
	return entry{path: fields[0], label: int32(label), part: part}, nil
}
