package reader

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const folderName = "readers.folder"

func init() {
	Register(op.Schema{
		Name: "folder", Module: []string{"readers"},
		Doc: "Reads a folder of images or sounds as Hugging Face's imagefolder and audiofolder do. The label of a file is its folder, " +
			"or metadata.csv, metadata.jsonl or metadata.parquet have a row for each file, whose column file_name names it. " +
			"Folders or files may have the name of a split.",
		Outputs: []op.Port{{Name: "fields",
			Doc: "the bytes of a file (image or audio), then its label, or the columns of the metadata"}},
		Params: loaderargs.With([]op.Parameter{
			{Name: "path", Type: op.String, Required: true, Tuning: true, Doc: "The folder."},
			{Name: "split", Type: op.String, Default: "", Doc: "The split, such as train; by default the only one."},
			{Name: "columns", Type: op.Strings,
				Doc: "Names of the columns of the metadata to read; by default all, in the order of the file."},
		}...),
		OutputCount: func(c *op.Config) (int, error) {
			f, err := newFolder(context.Background(), c)
			return len(f.names), err
		},
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			f, err := newFolder(context.Background(), c)
			return f.specs, err
		},
		Open: openFolder,
	})
}

// media are the ends of names of files that are samples, and what they are.
var media = map[string]string{
	".jpg": "image", ".jpeg": "image", ".png": "image", ".bmp": "image", ".gif": "image", ".tif": "image", ".tiff": "image",
	".webp": "image", ".ppm": "image", ".pgm": "image", ".pbm": "image", ".pnm": "image", ".jp2": "image", ".ico": "image",
	".wav": "audio", ".flac": "audio", ".ogg": "audio", ".opus": "audio", ".mp3": "audio", ".aiff": "audio", ".au": "audio",
	".w64": "audio",
}

// mediumOf returns what a file is by its name: image, audio, or "".
func mediumOf(name string) string { return media[strings.ToLower(path.Ext(name))] }

// folder is a split of a folder.
type folder struct {
	root, split string
	medium      string
	files       []string // relative to the root, with slashes; of metadata they come when it is opened
	labels      []int64  // nil: no labels
	metadata    []string // files relative to the root; none: the files of the folder are the samples
	names       []string
	specs       []tensor.Spec
	columns     op.Args // for the reader of the metadata, with the columns that become outputs
	reader      string  // of the metadata
}

// newFolder returns what the arguments and the names of the files tell.
func newFolder(ctx context.Context, c *op.Config) (f folder, err error) {
	if err := loaderargs.Check(c); err != nil {
		return f, err
	}
	f.root = op.Get[string](c, "path")
	all, err := filesBelow(ctx, f.root)
	if err != nil {
		return f, errs.Wrap(folderName, "", err)
	}
	splits := splitsOf(all)
	var have []string
	for s, list := range splits {
		if slices.ContainsFunc(list, func(f splitFile) bool { return mediumOf(f.path) != "" }) {
			have = append(have, s)
		}
	}
	if len(have) == 0 {
		return f, &errs.Error{Kind: errs.NotFound, Op: folderName, Subject: f.root, Want: "images or sounds",
			Got: fmt.Sprintf("%d other files", len(all))}
	}
	asked := op.Get[string](c, "split")
	if f.split, err = chooseSplit(f.root, asked, have); err != nil {
		return f, errs.Wrap(folderName, "", err)
	}
	if err := checkLeftOut(f.root, asked, f.split, all, splits); err != nil {
		return f, errs.Wrap(folderName, "", err)
	}
	if err := f.choose(splits); err != nil {
		return f, err
	}
	if err := f.checkOutside(all, splits); err != nil {
		return f, err
	}
	f.names, f.specs = []string{f.medium}, []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}
	if len(f.metadata) > 0 {
		return f, f.describe(ctx, c)
	}
	if c.Has("columns") {
		return f, c.Invalid("columns", "metadata with columns in "+f.root, "no metadata", "")
	}
	f.label(splits, have)
	return f, nil
}

// choose finds the files of the split.
func (f *folder) choose(splits map[string][]splitFile) error {
	for _, s := range splits[f.split] {
		if slices.Contains(metadataNames, path.Base(s.path)) {
			f.metadata = append(f.metadata, s.path)
			continue
		}
		switch m := mediumOf(s.path); {
		case m == "":
			continue
		case f.medium != "" && m != f.medium:
			return &errs.Error{Kind: errs.Invalid, Op: folderName, Subject: f.root, Want: "images or sounds",
				Got: "both: " + f.files[0] + " and " + s.path, Remedy: "make two folders of them"}
		default:
			f.medium, f.files = m, append(f.files, s.path)
		}
	}
	for _, m := range f.metadata {
		if path.Ext(m) != path.Ext(f.metadata[0]) {
			return &errs.Error{Kind: errs.Invalid, Op: folderName, Subject: f.root, Want: "metadata of one format",
				Got: f.metadata[0] + " and " + m, Remedy: "remove one of them"}
		}
	}
	return nil
}

// checkOutside refuses metadata that no split has: it would be ignored.
func (f *folder) checkOutside(all []string, splits map[string][]splitFile) error {
	isMetadata := func(name string) bool { return slices.Contains(metadataNames, path.Base(name)) }
	if out := outside(all, splits, isMetadata); len(out) > 0 {
		return &errs.Error{Kind: errs.Invalid, Op: folderName, Subject: datafs.Join(f.root, out[0]),
			Want: "metadata in the folder of its split", Got: "metadata that belongs to no split",
			Remedy: "write a file for each split, into its folder"}
	}
	return nil
}

// label gives each file the number of its folder's name among the names of all splits, sorted.
// There are no labels if all files have the same folder, or if they lie at different depths.
func (f *folder) label(splits map[string][]splitFile, have []string) {
	var classes []string
	depth := -1
	for _, s := range have {
		for _, file := range splits[s] {
			if mediumOf(file.path) == "" {
				continue
			}
			dir := path.Dir(file.path)
			if d := strings.Count(file.path, "/"); depth >= 0 && d != depth {
				return
			} else {
				depth = d
			}
			if name := path.Base(dir); !slices.Contains(classes, name) {
				classes = append(classes, name)
			}
		}
	}
	if len(classes) < 2 {
		return
	}
	slices.Sort(classes)
	for _, file := range f.files {
		at, _ := slices.BinarySearch(classes, path.Base(path.Dir(file)))
		f.labels = append(f.labels, int64(at))
	}
	f.names = append(f.names, "label")
	f.specs = append(f.specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}})
}

// fileColumn is the column of metadata that names the file.
const fileColumn = "file_name"

// metadataPaths returns the paths of the metadata.
func (f *folder) metadataPaths() []string {
	paths := make([]string, len(f.metadata))
	for i, m := range f.metadata {
		paths[i] = datafs.Join(f.root, filepath.FromSlash(m))
	}
	return paths
}

// describe finds the columns of the metadata.
func (f *folder) describe(ctx context.Context, c *op.Config) error {
	all, err := readMetadata(ctx, f.metadataPaths())
	if err != nil {
		return errs.Wrap(folderName, "", err)
	}
	have := all.columns
	if !slices.Contains(have, fileColumn) {
		return &errs.Error{Kind: errs.Mismatch, Op: folderName, Subject: f.metadataPaths()[0],
			Want: "a column " + fileColumn,
			Got:  "the columns " + strings.Join(have, ", "), Remedy: errs.DidYouMean(fileColumn, have)}
	}
	have = slices.DeleteFunc(slices.Clone(have), func(name string) bool { return name == fileColumn })
	wanted := op.Get[[]string](c, "columns")
	if !c.Has("columns") {
		wanted = have
	}
	for i, name := range wanted {
		if !slices.Contains(have, name) {
			return c.Invalid("columns", "columns of the metadata: "+strings.Join(have, ", "), fmt.Sprintf("%q", name),
				errs.DidYouMean(name, have))
		}
		if slices.Contains(wanted[:i], name) {
			return c.Invalid("columns", "each column once", fmt.Sprintf("%q twice", name), "")
		}
		if name == f.medium {
			return &errs.Error{Kind: errs.Invalid, Op: folderName, Subject: f.metadataPaths()[0],
				Want: "columns with other names than " + f.medium + ", which has the file", Got: "a column " + name,
				Remedy: "rename it, or leave it out of columns"}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if f.reader, f.columns, err = all.args(wanted); err != nil {
		return errs.Wrap(folderName, "", err)
	}
	specs, err := specsWith(f.reader, f.columns)
	if err != nil {
		return errs.Wrap(folderName, "", err)
	}
	f.names, f.specs = append(f.names, wanted...), append(f.specs, specs...)
	return nil
}

// specsWith returns the outputs of a reader with the given arguments.
func specsWith(name string, args op.Args) ([]tensor.Spec, error) {
	schema, err := Schema(name)
	if err != nil {
		return nil, err
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		return nil, err
	}
	config, _, err := op.Resolve(schema, schema.Name, 0, set)
	if err != nil {
		return nil, err
	}
	opener, err := Lookup(schema)
	if err != nil {
		return nil, err
	}
	return opener.Outputs(config)
}

// folderSource is an open folder.
type folderSource struct {
	folder
	info Info
	set  *shards.Set
	rows *Data // the columns of the metadata, or nil
}

func openFolder(ctx context.Context, c *op.Config) (Source, error) {
	f, err := newFolder(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &folderSource{folder: f}
	if len(f.metadata) > 0 {
		err = s.openRows(ctx)
	}
	if err == nil {
		err = s.openFiles(ctx)
	}
	if err != nil {
		return nil, errors.Join(errs.Wrap(folderName, "", err), s.Close())
	}
	h := state.NewHasher("bivouac.readers.folder.v1")
	h.String(s.medium)
	for i, name := range s.files {
		h.String(name)
		h.Int(s.set.Size(i))
		if s.labels != nil {
			h.Int(s.labels[i])
		}
	}
	if s.rows != nil {
		h.String(s.rows.Info().Fingerprint)
		for _, name := range s.names {
			h.String(name)
		}
	}
	s.info = Info{Format: folderName, Samples: int64(len(s.files)), Fingerprint: h.Sum()}
	return s, nil
}

// openRows reads the names of the files in the metadata.
func (s *folderSource) openRows(ctx context.Context) error {
	all, err := readMetadata(ctx, s.metadataPaths())
	if err != nil {
		return err
	}
	if s.columns != nil {
		if s.rows, err = Open(ctx, s.reader, s.columns); err != nil {
			return err
		}
	}
	name, args, err := all.args([]string{fileColumn})
	if err != nil {
		return err
	}
	data, err := Open(ctx, name, args)
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // only read
	s.files = make([]string, 0, data.Len())
	counts := data.Shards()
	if counts == nil {
		counts = []int64{data.Len()}
	}
	var row [1]Fields
	file, left := 0, counts[0]
	for id := range data.Len() {
		for left == 0 && file+1 < len(counts) {
			file++
			left = counts[file]
		}
		left--
		if err := data.Read(ctx, []int64{id}, row[:]); err != nil {
			return err
		}
		name := path.Clean(string(row[0].Values[0].Data))
		if v := row[0].Values[0]; v.DType != tensor.Uint8 || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
			return &errs.Error{Kind: errs.Invalid, Subject: data.Describe(id) + ", column " + fileColumn,
				Want: "the path of a file below the folder of the metadata", Got: fmt.Sprintf("%q", v.Data)}
		}
		if m := mediumOf(name); m != s.medium {
			return &errs.Error{Kind: errs.Mismatch, Subject: data.Describe(id) + ", column " + fileColumn,
				Want: s.medium + "s, as the other files of the folder", Got: name}
		}
		s.files = append(s.files, path.Join(path.Dir(s.metadata[file]), name))
	}
	if s.rows != nil && s.rows.Len() != data.Len() {
		return &errs.Error{Kind: errs.Mismatch, Subject: s.metadataPaths()[0], Want: fmt.Sprintf("%d rows", data.Len()),
			Got: fmt.Sprint(s.rows.Len()), Remedy: "the file changed while it was opened"}
	}
	return nil
}

// openFiles describes the files of the samples.
func (s *folderSource) openFiles(ctx context.Context) (err error) {
	paths := make([]string, len(s.files))
	for i, f := range s.files {
		paths[i] = datafs.Join(s.root, filepath.FromSlash(f))
	}
	s.set, err = shards.Open(ctx, folderName, paths)
	if err != nil && len(s.metadata) > 0 {
		return errs.Wrap("", "named in the column "+fileColumn+" of the metadata", err)
	}
	return err
}

// Info implements Source.
func (s *folderSource) Info() Info { return s.info }

// Fields implements Fielded.
func (s *folderSource) Fields() []string { return s.names }

// Name implements Named: the path below the folder.
func (s *folderSource) Name(id int64) string { return s.files[id] }

// Size implements Source.
func (s *folderSource) Size(id int64) int64 { return s.set.Size(int(id)) }

// Describe implements Source.
func (s *folderSource) Describe(id int64) string { return s.set.Path(int(id)) }

// Close implements Source.
func (s *folderSource) Close() (err error) {
	if s.set != nil {
		err = s.set.Close()
	}
	if s.rows != nil {
		err = errors.Join(err, s.rows.Close())
	}
	return err
}

// Fetch implements Source.
func (s *folderSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, id, i, dst) })
}

// folderRow is the memory of a worker for a row of the metadata.
type folderRow struct {
	id     [1]int64
	fields [1]Fields
}

func (s *folderSource) fetch(ctx context.Context, id int64, i int, dst *op.Block) error {
	file := dst.Out(0, i, int(s.set.Size(int(id)))).Data
	if err := s.set.ReadAt(ctx, int(id), file, 0); err != nil {
		return err
	}
	if s.labels != nil {
		out, err := tensor.Of[int64](dst.Out(1, i))
		if err == nil {
			out[0] = s.labels[id]
		}
		return err
	}
	if s.rows == nil {
		return nil
	}
	w := op.PerWorker[folderRow](dst)
	w.id[0] = id
	if err := s.rows.Read(ctx, w.id[:], w.fields[:]); err != nil {
		return err
	}
	for o, v := range w.fields[0].Values {
		copy(dst.Out(1+o, i, v.Shape...).Data, v.Data)
	}
	return nil
}
