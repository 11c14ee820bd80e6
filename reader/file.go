package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

const fileName = "readers.file"

// imageAndAudioFiles are DALI's default filters.
var imageAndAudioFiles = []string{
	"*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif", "*.tiff", "*.pnm", "*.ppm", "*.pgm", "*.pbm", "*.jp2", "*.webp", "*.flac", "*.ogg", "*.wav",
}

func init() {
	s := op.Schema{
		Name: "file", Module: []string{"readers"},
		Doc: "Reads whole files and their labels. With file_root, each folder below it is a class: folders are sorted by the bytes of " +
			"their names and numbered from 0, empty ones too, and so are the files in each; deeper folders are not entered.",
		Outputs: []op.Port{{Name: "files", Doc: "the bytes of a file, uint8"}, {Name: "labels", Doc: "its label, int32 of shape [1]"}},
		Params: loaderargs.With([]op.Parameter{
			{Name: "file_root", Type: op.String, Tuning: true, Doc: "Directory with a folder for each class, or what files and file_list are relative to."},
			{Name: "file_list", Type: op.String, Tuning: true, Doc: "Text file with a path and its label on each line, instead of folders; its own folder is the default of file_root."},
			{Name: "files", Type: op.Strings, Tuning: true, Doc: "Paths of the files, in this order, instead of folders."},
			{Name: "labels", Type: op.Ints, Tuning: true, Doc: "Labels of files; by default their index."},
			{Name: "file_filters", Type: op.Strings, Default: imageAndAudioFiles, Tuning: true, Doc: "Patterns of file names, of which one must match."},
			{Name: "dir_filters", Type: op.Strings, Tuning: true, Doc: "Patterns of folder names, of which one must match; by default all do."},
			{Name: "case_sensitive_filter", Type: op.Bool, Default: false, Tuning: true, Doc: "Patterns tell upper from lower case."},
		}...),
	}
	o := Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			if err := checkFiles(c); err != nil {
				return nil, err
			}
			return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, {DType: tensor.Int32, Shape: tensor.Shape{1}}}, nil
		},
		Open: openFiles,
	}
	Register(s, o)
	s.Same = s.FullName()
	alias("file_reader", s, o)
}

// files is an index of files. It has no pointer per file, so the garbage collector does not scan
// ten million pointers.
type files struct {
	info    Info
	root    string
	paths   strings.Builder // all paths, back to back; slash-separated, relative to root unless absolute
	ends    []int64         // where each path ends
	sizes   []int64
	labels  []int32
	objects objects // the files that lie in a bucket
}

func openFiles(ctx context.Context, c *op.Config) (Source, error) {
	f := &files{root: op.Get[string](c, "file_root")}
	for _, path := range []string{f.root, op.Get[string](c, "file_list")} {
		if err := datafs.Check(path); err != nil {
			return nil, errs.Wrap(fileName, "", err)
		}
	}
	var err error
	switch {
	case c.Has("files"):
		err = f.named(ctx, c)
	case c.Has("file_list"):
		err = f.listed(ctx, c)
	default:
		err = f.walk(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	f.info = Info{Format: fileName, Samples: int64(len(f.ends)), Fingerprint: f.fingerprint()}
	return f, nil
}

// checkFiles returns an error for arguments that exclude each other.
func checkFiles(c *op.Config) error {
	names, labels := op.Get[[]string](c, "files"), op.Get[[]int](c, "labels")
	switch {
	case c.Has("files") && c.Has("file_list"):
		return c.Invalid("file_list", "only file_list or only files", "both", "")
	case c.Has("files") && len(names) == 0:
		return c.Invalid("files", "at least one path", "no path", "")
	case c.Has("labels") && !c.Has("files"):
		return c.Invalid("labels", "labels together with files", "labels without files", "")
	case c.Has("labels") && len(labels) != len(names):
		return c.Invalid("labels", fmt.Sprintf("%d labels, one a file", len(names)), fmt.Sprint(len(labels)), "")
	case !c.Has("files") && !c.Has("file_list") && op.Get[string](c, "file_root") == "":
		return c.Invalid("file_root", "a directory with a folder for each class, files, or file_list", "none of them", "")
	case len(op.Get[[]string](c, "file_filters")) == 0:
		return c.Invalid("file_filters", "at least one pattern", "no pattern", "")
	}
	return loaderargs.Check(c)
}

func (f *files) add(path string, size int64, label int32) {
	f.paths.WriteString(path)
	f.ends = append(f.ends, int64(f.paths.Len()))
	f.sizes = append(f.sizes, size)
	f.labels = append(f.labels, label)
}

// named adds the files that the arguments name.
func (f *files) named(ctx context.Context, c *op.Config) error {
	names, labels := op.Get[[]string](c, "files"), op.Get[[]int](c, "labels")
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return fileError(fileName, f.root, err)
		}
		label := i
		if c.Has("labels") {
			label = labels[i]
		}
		if int(int32(label)) != label {
			return c.Invalid("labels", "labels that fit into 32 bits", fmt.Sprint(label), "")
		}
		if err := f.stat(ctx, filepath.ToSlash(name), int32(label)); err != nil {
			return err
		}
	}
	return nil
}

// stat adds one named file.
func (f *files) stat(ctx context.Context, name string, label int32) error {
	info, err := datafs.Stat(ctx, f.resolve(name))
	if err != nil {
		return fileError(fileName, f.resolve(name), err)
	}
	if info.IsDir() {
		return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: f.resolve(name), Want: "a file", Got: "a directory"}
	}
	f.add(name, info.Size(), label)
	f.addTag(datafs.Tag(info))
	return nil
}

// walk adds the files of the class folders.
func (f *files) walk(ctx context.Context, c *op.Config) error {
	matchFile, err := newFilter(c, "file_filters")
	if err != nil {
		return err
	}
	matchDir, err := newFilter(c, "dir_filters")
	if err != nil {
		return err
	}
	if info, err := datafs.Stat(ctx, f.root); err == nil && !info.IsDir() {
		return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: f.root, Want: "a directory", Got: "a file"}
	}
	classes, err := folders.Names(ctx, fileName, f.root)
	if err != nil {
		return err
	}
	classes = slices.DeleteFunc(classes, func(name string) bool { return !matchDir(name) })
	if len(classes) == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: f.root, Want: "a folder for each class",
			Got:    "no folder",
			Remedy: "move the files into folders, or list them in the argument files"}
	}
	seen := 0
	lists, err := folders.List(ctx, fileName, f.root, classes, matchFile)
	if err != nil {
		return err
	}
	for label, class := range classes {
		l := &lists[label]
		seen += l.Seen
		for _, e := range l.Files {
			if e.Size < 0 {
				continue
			}
			f.paths.WriteString(class)
			f.paths.WriteByte('/')
			f.add(l.Name(e), e.Size, int32(label))
			f.addTag(l.Tag(e))
		}
		*l = folders.Listing{}
	}
	if len(f.ends) == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: f.root,
			Want: "files that match " + strings.Join(op.Get[[]string](c, "file_filters"), " "),
			Got:  fmt.Sprintf("no match among %d files in %d folders", seen, len(classes))}
	}
	return nil
}

// newFilter returns a function that reports whether a name matches one of the patterns, as fnmatch
// does. Without patterns every name matches.
func newFilter(c *op.Config, arg string) (func(name string) bool, error) {
	patterns, exact := slices.Clone(op.Get[[]string](c, arg)), op.Get[bool](c, "case_sensitive_filter")
	for i, p := range patterns {
		p = strings.ReplaceAll(p, "[!", "[^") // as in shells
		patterns[i] = p
		if !exact {
			patterns[i] = strings.ToLower(p)
		}
		if _, err := path.Match(p, ""); err != nil {
			return nil, c.Invalid(arg, "patterns such as *.jpg", fmt.Sprintf("%q", p), "")
		}
	}
	var ends []string // the ends of patterns that are a star and an end
	patterns = slices.DeleteFunc(patterns, func(p string) bool {
		end, ok := strings.CutPrefix(p, "*")
		if ok = ok && end != "" && !strings.ContainsAny(end, `*?[\`); ok {
			ends = append(ends, end)
		}
		return ok
	})
	all := len(patterns)+len(ends) == 0
	return func(name string) bool {
		if !exact {
			name = strings.ToLower(name)
		}
		if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return true
		}
		return all || slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
	}, nil
}

// Name implements Named.
func (f *files) Name(id int64) string { return f.path(id) }

func (f *files) path(id int64) string {
	start := int64(0)
	if id > 0 {
		start = f.ends[id-1]
	}
	return f.paths.String()[start:f.ends[id]]
}

// resolve returns the path to open for a name in the index.
func (f *files) resolve(name string) string {
	if f.root == "" || datafs.IsAbs(name) {
		return name
	}
	return datafs.Under(f.root, name)
}

func (f *files) Info() Info { return f.info }

func (f *files) Size(id int64) int64 { return f.sizes[id] }

func (f *files) Describe(id int64) string { return "file " + f.resolve(f.path(id)) }

func (f *files) Close() error { return nil }

func (f *files) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, s int) error { return f.fetch(ctx, id, s, dst) })
}

func (f *files) fetch(ctx context.Context, id int64, s int, dst *op.Block) error {
	path := f.resolve(f.path(id))
	if f.objects.ends != nil && datafs.IsURL(path) {
		return f.fetchObject(ctx, path, id, s, dst)
	}
	file, err := os.Open(datafs.Local(path))
	if err != nil {
		return readError(err)
	}
	defer file.Close()
	data := dst.Out(0, s, int(f.sizes[id])).Data
	n, err := io.ReadFull(file, data)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || len(data) == 0 && errors.Is(err, io.EOF) {
		var more [1]byte
		extra, _ := file.Read(more[:])
		if n+extra != len(data) {
			return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("%d bytes, the size when the data set was opened", len(data)),
				Got: "a file of another size"}
		}
		err = nil
	}
	if err != nil {
		return readError(err)
	}
	label, err := tensor.Of[int32](dst.Out(1, s, 1))
	if err == nil {
		label[0] = f.labels[id]
	}
	return err
}

// readError returns an error of the system with its kind. The caller adds the path.
func readError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &errs.Error{Kind: shards.Kind(err), Err: p.Err}
	}
	return &errs.Error{Kind: shards.Kind(err), Err: err}
}

// fileError returns an error of the reader op about a file.
func fileError(op, path string, err error) error { return folders.Error(op, path, err) }
