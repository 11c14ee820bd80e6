// Package video has experimental.readers.video, a reader that decodes clips of video files. It is a
// package of its own so that programs that decode none link no codec. Package pipeline imports it;
// a program that reads clips by package loader alone imports it by name:
//
//	import _ "github.com/bivouac-ml/bivouac/reader/video"
//
// A clip is found by its number alone: the file, its first frame and its stride. Processes of
// ffmpeg are kept between clips and go on where they are if that is the quickest way to the next
// clip; see pool. They never change what is read.
package video

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const readerName = "experimental.readers.video"

func init() {
	reader.Register(schema(), reader.Opener{Outputs: outputs, Open: open})
}

func schema() op.Schema {
	return op.Schema{
		Name: "video", Module: []string{"experimental", "readers"},
		Doc: "Reads clips of videos, as RGB: each has sequence_length frames, one every stride frames, and begins step frames after the clip " +
			"before it. Videos are files, files in the folders of a directory, or parts of files in a list. The program ffmpeg must be " +
			"installed, except for motion JPEG, GIF and WebP. A damaged frame is an error of its clips alone.",
		Outputs: []op.Port{
			{Name: "videos", Doc: "frames, uint8 of layout FHWC"},
			{Name: "labels", Doc: "with labels, file_list or file_root: the label, int32 of shape [1]"},
			{Name: "numbers", Doc: "with enable_frame_num: numbers of frames, int32; -1 for padding"},
			{Name: "timestamps", Doc: "with enable_timestamps: the time of each frame in seconds, float64; -1 for padding"},
		},
		OutputCount: func(c *op.Config) (int, error) { list, err := outputs(c); return len(list), err },
		Params: loaderargs.Without([]string{"shuffle_after_epoch", "shuffle_after_epoch_seed"},
			op.Parameter{Name: "sequence_length", Type: op.Int, Required: true, Doc: "Number of frames of a clip."},
			op.Parameter{Name: "filenames", Type: op.Strings, Tuning: true, Doc: "Paths of the videos."},
			op.Parameter{Name: "file_root", Type: op.String, Default: "", Tuning: true, Doc: "Directory with a folder for each label, which has the videos."},
			op.Parameter{Name: "file_list", Type: op.String, Default: "", Tuning: true, Doc: "List of videos: in each line a path, a label, and the start and the end of the part that is read, if it is not the whole video."},
			op.Parameter{Name: "labels", Type: op.Ints, Tuning: true, Doc: "A label for each of filenames."},
			op.Parameter{Name: "file_list_format", Type: op.String, Default: "timestamps", Tuning: true, Doc: "What start and end are: timestamps in seconds, or frames; a negative number of a frame counts from the end."},
			op.Parameter{Name: "file_list_rounding", Type: op.String, Default: "start_down_end_up", Tuning: true, Doc: "How a start and an end between frames are rounded: start_down_end_up, start_up_end_down, all_up or all_down. The end is no part of the clip."},
			op.Parameter{Name: "file_list_include_end", Type: op.Bool, Default: true, Tuning: true, Doc: "Accepted, but has no effect: the end is never included."},
			op.Parameter{Name: "step", Type: op.Int, Default: -1, Doc: "Frames from the start of a clip to the start of the next; below 1 it is sequence_length times stride."},
			op.Parameter{Name: "stride", Type: op.Int, Default: 1, Doc: "Frames from one frame of a clip to the next."},
			op.Parameter{Name: "pad_mode", Type: op.String, Default: "none",
				Doc: "What stands for frames beyond the end. With none, the clip at the end that is not whole is left out. constant is fill_value; edge (or repeat) the last frame; reflect_101 (reflect) or reflect_1001 (symmetric) the video back and forth."},
			op.Parameter{Name: "fill_value", Type: op.Ints, Default: []int{0}, Doc: "Colour of pad_mode constant: a number from 0 to 255, or one for each channel."},
			op.Parameter{Name: "uniform_sample", Type: op.Bool, Default: false, Doc: "Reads one clip of each video, whose frames are spread evenly over it. step, stride and pad_mode have no effect."},
			op.Parameter{Name: "enable_frame_num", Type: op.String, Default: "none", Doc: "Adds an output with numbers of frames: scalar (or True) for the first frame, sequence for each frame."},
			op.Parameter{Name: "enable_timestamps", Type: op.Bool, Default: false, Doc: "Adds an output with the times of the frames."},
			op.Parameter{Name: "image_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the frames: RGB."},
			op.Parameter{Name: "index_path", Type: op.String, Default: "", Tuning: true,
				Doc: "A file that keeps the indices of the videos, so that opening does not read the videos. It is made if it is missing, and made anew for videos that changed."},
		),
	}
}

// settings are the arguments that say what a clip is.
type settings struct {
	length, step, stride int
	pad                  video.PadMode
	fill                 [3]byte
	uniform              bool
	labels, times        bool
	numbers              string // "", "scalar" or "sequence"
}

// parse checks the arguments without the data set.
func parse(c *op.Config) (s settings, err error) {
	s = settings{length: op.Get[int](c, "sequence_length"), step: op.Get[int](c, "step"), stride: op.Get[int](c, "stride"),
		uniform: op.Get[bool](c, "uniform_sample"), times: op.Get[bool](c, "enable_timestamps"),
		numbers: op.Get[string](c, "enable_frame_num")}
	var known bool
	switch s.numbers {
	case "True", "true":
		s.numbers = "scalar"
	case "none", "None", "False", "false":
		s.numbers = ""
	case "scalar", "sequence":
	default:
		return s, c.Invalid("enable_frame_num", "none, scalar or sequence", s.numbers, "")
	}
	roots := 0
	for _, name := range []string{"file_root", "file_list"} {
		if op.Get[string](c, name) != "" {
			roots++
			s.labels = true
		}
	}
	if c.Has("filenames") {
		roots++
	}
	names, labels := op.Get[[]string](c, "filenames"), op.Get[[]int](c, "labels")
	s.labels = s.labels || c.Has("labels")
	switch {
	case roots != 1:
		return s, c.Invalid("filenames", "one of filenames, file_root and file_list", fmt.Sprintf("%d of them", roots), "")
	case c.Has("filenames") && len(names) == 0:
		return s, c.Invalid("filenames", "at least one path", "no path", "")
	case c.Has("labels") && !c.Has("filenames"):
		return s, c.Invalid("labels", "labels together with filenames", "labels without filenames", "")
	case c.Has("labels") && len(labels) != len(names):
		return s, c.Invalid("labels", fmt.Sprintf("%d labels, one a file", len(names)), fmt.Sprint(len(labels)), "")
	case s.length < 1:
		return s, c.Invalid("sequence_length", "at least 1", fmt.Sprint(s.length), "")
	case s.stride < 1:
		return s, c.Invalid("stride", "at least 1", fmt.Sprint(s.stride), "")
	case s.length > math.MaxInt32 || s.stride > math.MaxInt32 || s.step > math.MaxInt32:
		return s, c.Invalid("sequence_length", "lengths and strides that fit into 32 bits", "larger ones", "")
	case op.Get[op.ImageType](c, "image_type") != op.RGB:
		return s, c.Unsupported("image_type", "RGB", op.Get[op.ImageType](c, "image_type").String())
	}
	for _, l := range labels {
		if int(int32(l)) != l {
			return s, c.Invalid("labels", "labels that fit into 32 bits", fmt.Sprint(l), "")
		}
	}
	if s.pad, known = video.ParsePadMode(op.Get[string](c, "pad_mode")); !known {
		return s, c.Invalid("pad_mode", video.PadModes, op.Get[string](c, "pad_mode"), "")
	}
	if s.fill, known = video.Color(op.Get[[]int](c, "fill_value")); !known {
		return s, c.Invalid("fill_value", "1 or 3 numbers from 0 to 255", fmt.Sprint(op.Get[[]int](c, "fill_value")), "")
	}
	if err := checkList(c); err != nil {
		return s, err
	}
	if s.step < 1 {
		s.step = s.length * s.stride
	}
	return s, loaderargs.CheckContainer(c)
}

func outputs(c *op.Config) ([]tensor.Spec, error) {
	s, err := parse(c)
	if err != nil {
		return nil, err
	}
	list := []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{s.length, -1, -1, 3}, Layout: "FHWC"}}
	if s.labels {
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{1}})
	}
	switch s.numbers {
	case "scalar":
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{1}})
	case "sequence":
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{s.length}})
	}
	if s.times {
		list = append(list, tensor.Spec{DType: tensor.Float64, Shape: tensor.Shape{s.length}})
	}
	return list, nil
}

// entry is a video, or a part of one.
type entry struct {
	path       string
	label      int32
	part       bounds
	file       *file
	start, end int   // of its frames
	first      int64 // its first clip
}

// file is a file of the data set. Several entries may be parts of it.
type file struct {
	path  string
	size  int64
	index *video.Index
}

// clips is a data set.
type clips struct {
	settings
	info    reader.Info
	entries []entry
	pool    *pool
}

func open(ctx context.Context, c *op.Config) (reader.Source, error) {
	s, err := parse(c)
	if err != nil {
		return nil, err
	}
	for _, name := range append(op.Get[[]string](c, "filenames"), op.Get[string](c, "file_root"),
		op.Get[string](c, "file_list")) {
		if datafs.IsURL(name) {
			return nil, &errs.Error{Kind: errs.Unsupported, Op: readerName, Subject: name, Want: "videos on a disk",
				Got: "a URL of a bucket", Remedy: "copy the videos to a disk: ffmpeg reads them there"}
		}
	}
	for _, name := range []string{"file_root", "file_list", "index_path"} {
		if err := errs.CheckPath(op.Get[string](c, name)); err != nil {
			return nil, errs.Wrap(readerName, "", err)
		}
	}
	d := &clips{settings: s}
	if d.entries, err = listEntries(ctx, c); err != nil {
		return nil, err
	}
	files, err := openFiles(ctx, d.entries, op.Get[string](c, "index_path"))
	if err != nil {
		return nil, err
	}
	h := state.NewHasher("bivouac.readers.video.v1")
	counts := make([]int64, 0, len(d.entries))
	kept := d.entries[:0]
	for _, e := range d.entries {
		e.file = files[e.path]
		e.start, e.end = e.part.frames(e.file.index)
		n := d.count(e.start, e.end)
		for _, v := range []int64{int64(e.label), int64(e.start), int64(e.end), int64(e.file.index.Frames()), e.file.size} {
			h.Int(v)
		}
		h.String(filepath.Base(e.path))
		if n > 0 {
			e.first = d.info.Samples
			d.info.Samples += n
			kept, counts = append(kept, e), append(counts, n)
		}
	}
	if d.info.Samples == 0 {
		need := s.length * s.stride
		return nil, &errs.Error{Kind: errs.Invalid, Op: readerName, Subject: d.entries[0].path,
			Want:   fmt.Sprintf("a video of at least %d frames", need),
			Got:    fmt.Sprintf("%d videos, this one of %d frames", len(d.entries), d.entries[0].end-d.entries[0].start),
			Remedy: "lower sequence_length or stride, or use a pad_mode"}
	}
	d.entries = kept
	d.info.Format, d.info.Files, d.info.Fingerprint = readerName, counts, h.Sum()
	d.pool = newPool(max(2, runtime.GOMAXPROCS(0)))
	return d, nil
}

// count returns the number of clips in frames. A clip takes stride frames for each of its own. With
// padding, one clip follows the last whole one.
func (s *settings) count(start, end int) int64 {
	n := end - start
	switch {
	case n < 1:
		return 0
	case s.uniform:
		return 1
	}
	count := 0
	if rest := n - s.length*s.stride; rest >= 0 {
		count = rest/s.step + 1
	}
	if s.pad != video.PadNone && count*s.step < n {
		count++
	}
	return int64(count)
}

// find returns the video of a clip, and the first frame of the clip.
func (d *clips) find(id int64) (e *entry, first int) {
	i := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].first > id }) - 1
	e = &d.entries[i]
	return e, e.start + int(id-e.first)*d.step
}

// numbersOf returns the numbers of the frames of a clip; -1 is padding.
func (d *clips) numbersOf(id int64) (e *entry, list []int) {
	e, first := d.find(id)
	list = make([]int, d.length)
	for i := range list {
		if d.uniform {
			list[i] = e.start + spread(i, d.length, e.end-e.start)
		} else {
			list[i] = d.pad.Frame(first+i*d.stride, e.end)
		}
	}
	return e, list
}

// spread returns the i-th of n numbers that are spread evenly from 0 to size-1, rounded to the
// nearest; a half is rounded up.
func spread(i, n, size int) int {
	if n == 1 {
		return 0
	}
	return (2*i*(size-1) + n - 1) / (2 * (n - 1))
}

// Info implements reader.Source.
func (d *clips) Info() reader.Info { return d.info }

// Size implements reader.Source: the share that a clip has in the bytes of its file.
func (d *clips) Size(id int64) int64 {
	e, _ := d.find(id)
	return max(1, e.file.size/int64(e.file.index.Frames())*int64(d.length))
}

// Name implements reader.Named.
func (d *clips) Name(id int64) string { e, _ := d.find(id); return e.path }

// Describe implements reader.Source.
func (d *clips) Describe(id int64) string {
	e, first := d.find(id)
	return fmt.Sprintf("the clip from frame %d on of %s", first, e.path)
}

// Close implements reader.Source. It kills the processes that were kept.
func (d *clips) Close() error {
	d.pool.close()
	return nil
}

// Fetch implements reader.Source.
func (d *clips) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	for s, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.fetch(ctx, id, s, dst); err != nil {
			dst.Fail(s, err)
		}
	}
	return nil
}

func (d *clips) fetch(ctx context.Context, id int64, s int, dst *op.Block) error {
	e, numbers := d.numbersOf(id)
	x := e.file.index
	limits := dst.Limits()
	if err := (raster.Limits{Pixels: limits.MaxPixels}).CheckPixels("", x.Width, x.Height); err != nil {
		return err
	}
	out := dst.Out(0, s, d.length, x.Height, x.Width, 3).Data
	if err := d.decode(ctx, e.file, numbers, out, dst); err != nil {
		return err
	}
	return d.rest(e, numbers, s, dst)
}

// rest writes the outputs other than the frames.
func (d *clips) rest(e *entry, numbers []int, s int, dst *op.Block) error {
	next := 1
	if d.labels {
		to, err := tensor.Of[int32](dst.Out(next, s, 1))
		if err != nil {
			return err
		}
		to[0] = e.label
		next++
	}
	if d.numbers != "" {
		n := 1
		if d.numbers == "sequence" {
			n = d.length
		}
		to, err := tensor.Of[int32](dst.Out(next, s, n))
		if err != nil {
			return err
		}
		for i := range to {
			to[i] = int32(numbers[i])
		}
		next++
	}
	if d.times {
		to, err := tensor.Of[float64](dst.Out(next, s, d.length))
		if err != nil {
			return err
		}
		for i, number := range numbers {
			if to[i] = -1; number >= 0 {
				to[i] = e.file.index.Seconds(number)
			}
		}
	}
	return nil
}

// decode decodes frames with a decoder of the pool.
func (d *clips) decode(ctx context.Context, f *file, numbers []int, out []byte, dst *op.Block) error {
	if deadline := dst.Binding().Deadline; !deadline.IsZero() {
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		err := d.decodeBefore(limited, f, numbers, out)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			if late := dst.Overdue(); late != nil {
				return late
			}
		}
		return err
	}
	return d.decodeBefore(ctx, f, numbers, out)
}

func (d *clips) decodeBefore(ctx context.Context, f *file, numbers []int, out []byte) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return folders.Error("", "", err)
	}
	if info.Size() != f.size {
		return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("%d bytes, the size when the data set was opened", f.size),
			Got: fmt.Sprint(info.Size())}
	}
	first := slices.Max(numbers)
	for _, n := range numbers {
		if n >= 0 {
			first = min(first, n)
		}
	}
	slot, err := d.pool.take(ctx, f, first, slices.Max(numbers)+1)
	if err != nil {
		return err
	}
	err = slot.decoder.Clip(ctx, numbers, d.fill, out)
	d.pool.give(slot, err)
	return err
}

// isVideo reports whether a file of file_root has the name of a video.
func isVideo(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".3gp", ".asf", ".avi", ".flv", ".gif", ".h264", ".h265", ".hevc", ".ivf", ".m2ts", ".m4v", ".mjpeg",
		".mjpg", ".mkv", ".mov",
		".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".vob", ".webm", ".webp", ".wmv":
		return true
	}
	return false
}
