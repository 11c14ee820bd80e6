package reader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/coco"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const cocoName = "readers.coco"

func init() {
	s := op.Schema{
		Name: "coco", Module: []string{"readers"},
		Doc: "Reads images and their boxes and labels, and on request their masks and ids, from a folder and a file of annotations in COCO's " +
			"format. The outputs are images, boxes and labels, then polygons and vertices or pixelwise masks, then the ids of the images. " +
			"Images come in the order of their ids.",
		Outputs: []op.Port{
			{Name: "images", Doc: "the bytes of a file, uint8"},
			{Name: "bounding_boxes", Doc: "float32 of shape [N, 4]: x, y, width and height, or with ltrb the sides"},
			{Name: "labels", Doc: "int32 of shape [N]"},
			{Name: "masks", Doc: "with polygon_masks int32 of shape [P, 3]: for each polygon its box, its first vertex and its end; " +
				"with pixelwise_masks int32 of shape [height, width, 1]: the label of each pixel, 0 outside"},
			{Name: "vertices", Doc: "with polygon_masks float32 of shape [V, 2]: x and y"},
			{Name: "image_ids", Doc: "with image_ids int32 of shape [1]"},
		},
		OutputCount: func(c *op.Config) (int, error) {
			a, err := cocoArguments(c)
			return len(a.specs()), err
		},
		Params: loaderargs.With(cocoParams()...),
	}
	o := Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			a, err := cocoArguments(c)
			return a.specs(), err
		},
		Open: openCoco,
	}
	Register(s, o)
	alias("coco_reader", s, o)
}

func cocoParams() []op.Parameter {
	return []op.Parameter{
		{Name: "file_root", Type: op.String, Tuning: true, Doc: "Folder of the images."},
		{Name: "annotations_file", Type: op.String, Tuning: true, Doc: "File of annotations in JSON."},
		{Name: "images", Type: op.Strings, Tuning: true, Doc: "Names of the images to read, in this order; by default all, in the order of their ids."},
		{Name: "ltrb", Type: op.Bool, Default: false, Tuning: true, Doc: "Boxes are left, top, right and bottom instead of x, y, width and height."},
		{Name: "ratio", Type: op.Bool, Default: false, Tuning: true, Doc: "Boxes and vertices are fractions of the image instead of pixels."},
		{Name: "skip_empty", Type: op.Bool, Default: false, Tuning: true, Doc: "Leaves images without boxes out."},
		{Name: "size_threshold", Type: op.Float, Default: 0.1, Tuning: true, Doc: "Leaves boxes out that are narrower or lower, in pixels."},
		{Name: "include_iscrowd", Type: op.Bool, Default: true, Tuning: true, Doc: "Keeps annotations of crowds."},
		{Name: "avoid_class_remapping", Type: op.Bool, Default: false, Tuning: true, Doc: "Labels are the ids of categories; by default the categories are numbered from 1, in their order in the file."},
		{Name: "image_ids", Type: op.Bool, Default: false, Doc: "Adds an output with the ids of the images."},
		{Name: "polygon_masks", Type: op.Bool, Default: false, Doc: "Adds outputs with the polygons of the boxes and their vertices."},
		{Name: "pixelwise_masks", Type: op.Bool, Default: false, Doc: "Adds an output with the label of each pixel, from polygons and run lengths. Where masks overlap, the largest label wins."},
		{Name: "save_preprocessed_annotations", Type: op.Bool, Default: false, Tuning: true, Doc: "Writes the annotations to binary files, for preprocessed_annotations."},
		{Name: "save_preprocessed_annotations_dir", Type: op.String, Tuning: true, Doc: "Folder for save_preprocessed_annotations. It must exist."},
		{Name: "preprocessed_annotations", Type: op.String, Tuning: true, Doc: "Folder of binary files to read instead of annotations_file."},
		{Name: "masks", Type: op.Bool, Default: false, Deprecated: "use polygon_masks", Doc: "Like polygon_masks, but a polygon has the places of its coordinates, which are twice the places of its vertices."},
		{Name: "save_img_ids", Type: op.Bool, Deprecated: "use image_ids", Doc: "The old name of image_ids."},
		{Name: "dump_meta_files", Type: op.Bool, Tuning: true, Deprecated: "use save_preprocessed_annotations", Doc: "The old name of save_preprocessed_annotations."},
		{Name: "dump_meta_files_path", Type: op.String, Tuning: true, Deprecated: "use save_preprocessed_annotations_dir", Doc: "The old name of save_preprocessed_annotations_dir."},
		{Name: "meta_files_path", Type: op.String, Tuning: true, Deprecated: "use preprocessed_annotations", Doc: "The old name of preprocessed_annotations."},
	}
}

// cocoArgs are the arguments of the reader, under their new names.
type cocoArgs struct {
	root, annotations, preprocessed, saveDir string
	save                                     bool
	ids, polygons, pixelwise                 bool
	coordinates                              bool // polygons have the places of coordinates
	join                                     coco.JoinOptions
	parse                                    coco.Options
}

// renamed returns an argument that has an old name as well.
func renamed[T any](c *op.Config, name, old string) (T, error) {
	switch {
	case !c.Given(old):
		return op.Get[T](c, name), nil
	case c.Given(name):
		return op.Get[T](c, name), c.Invalid(old, name+" or "+old, "both", "")
	}
	return op.Get[T](c, old), nil
}

// cocoArguments returns the arguments, or an error for those that exclude each other.
func cocoArguments(c *op.Config) (a cocoArgs, err error) {
	var failed [4]error
	a.ids, failed[0] = renamed[bool](c, "image_ids", "save_img_ids")
	a.save, failed[1] = renamed[bool](c, "save_preprocessed_annotations", "dump_meta_files")
	a.saveDir, failed[2] = renamed[string](c, "save_preprocessed_annotations_dir", "dump_meta_files_path")
	a.preprocessed, failed[3] = renamed[string](c, "preprocessed_annotations", "meta_files_path")
	a.root, a.annotations = op.Get[string](c, "file_root"), op.Get[string](c, "annotations_file")
	a.coordinates = op.Get[bool](c, "masks")
	a.polygons, a.pixelwise = a.coordinates || op.Get[bool](c, "polygon_masks"), op.Get[bool](c, "pixelwise_masks")
	a.parse = coco.Options{Segmentations: a.polygons || a.pixelwise, SkipCrowd: !op.Get[bool](c, "include_iscrowd"),
		MinSize: float32(op.Get[float64](c, "size_threshold"))}
	a.join = coco.JoinOptions{SkipEmpty: op.Get[bool](c, "skip_empty"), LTRB: op.Get[bool](c, "ltrb"),
		Ratio:    op.Get[bool](c, "ratio"),
		Verbatim: op.Get[bool](c, "avoid_class_remapping"), Polygons: a.polygons, Pixelwise: a.pixelwise}
	if c.Has("images") {
		a.join.Images = op.Get[[]string](c, "images")
	}
	switch {
	case errors.Join(failed[:]...) != nil:
		for _, err := range failed {
			if err != nil {
				return a, err
			}
		}
	case a.root == "":
		return a, c.Invalid("file_root", "the folder of the images", "none", "")
	case op.Get[bool](c, "skip_cached_images"):
		return a, c.Invalid("skip_cached_images", "false: readers.coco does not know it", "true", "")
	case a.polygons && a.pixelwise:
		return a, c.Invalid("pixelwise_masks", "only pixelwise_masks or only polygon_masks", "both", "")
	case a.save != (a.saveDir != ""):
		return a, c.Invalid("save_preprocessed_annotations",
			"save_preprocessed_annotations together with save_preprocessed_annotations_dir", "one of them", "")
	case a.preprocessed == "" && a.annotations == "":
		return a, c.Invalid("annotations_file", "annotations_file or preprocessed_annotations", "none of them", "")
	case a.preprocessed != "":
		for _, name := range []string{"annotations_file", "images", "ltrb", "ratio", "skip_empty", "size_threshold",
			"include_iscrowd", "avoid_class_remapping", "save_preprocessed_annotations", "dump_meta_files"} {
			if c.Given(name) {
				return a, c.Invalid(name, "preprocessed_annotations without "+name, "both",
					"the argument took effect when the annotations were saved")
			}
		}
	case c.Has("images") && len(a.join.Images) == 0:
		return a, c.Invalid("images", "at least one name", "none", "")
	}
	return a, loaderargs.Check(c)
}

// specs returns the specs of the outputs.
func (a *cocoArgs) specs() []tensor.Spec {
	list := []tensor.Spec{
		{DType: tensor.Uint8, Shape: tensor.Shape{-1}},
		{DType: tensor.Float32, Shape: tensor.Shape{-1, 4}},
		{DType: tensor.Int32, Shape: tensor.Shape{-1}},
	}
	if a.polygons {
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{-1, 3}},
			tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{-1, 2}})
	}
	if a.pixelwise {
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{-1, -1, 1}, Layout: "HWC"})
	}
	if a.ids {
		list = append(list, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{1}})
	}
	return list
}

func (a *cocoArgs) parts() coco.Parts {
	return coco.Parts{IDs: a.ids, Polygons: a.polygons, Pixelwise: a.pixelwise}
}

// cocoSource is a set of images with a file each.
type cocoSource struct {
	args     cocoArgs
	info     Info
	set      *shards.Set
	data     *coco.Dataset
	painters sync.Pool
}

func openCoco(ctx context.Context, c *op.Config) (Source, error) {
	a, err := cocoArguments(c)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{a.root, a.annotations, a.preprocessed} {
		if err := datafs.Check(path); err != nil {
			return nil, errs.Wrap(cocoName, "", err)
		}
	}
	if err := errs.CheckPath(a.saveDir); err != nil { // files are written there
		return nil, errs.Wrap(cocoName, "", err)
	}
	s := &cocoSource{args: a, painters: sync.Pool{New: func() any { return new(coco.Painter) }}}
	if a.preprocessed != "" {
		s.data, err = readPreprocessed(ctx, a)
	} else {
		s.data, err = readAnnotations(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	if s.data.Len() == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: cocoName, Subject: a.annotations + a.preprocessed,
			Want: "at least one image", Got: "none",
			Remedy: "check the file, and skip_empty, size_threshold and include_iscrowd"}
	}
	paths := make([]string, s.data.Len())
	for i := range paths {
		paths[i] = datafs.Join(a.root, filepath.FromSlash(s.data.Name(i)))
	}
	if s.set, err = shards.Open(ctx, cocoName, paths); err != nil {
		return nil, err
	}
	if a.save {
		if err := s.save(); err != nil {
			return nil, err
		}
	}
	s.info = Info{Format: cocoName, Samples: int64(s.data.Len()), Fingerprint: s.fingerprint()}
	return s, nil
}

// readAnnotations reads a file of annotations.
func readAnnotations(ctx context.Context, a cocoArgs) (*coco.Dataset, error) {
	set, err := shards.Open(ctx, cocoName, []string{a.annotations})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	f, err := coco.Parse(set.Reader(ctx, 0), a.parse)
	if err != nil {
		return nil, errs.Wrap(cocoName, a.annotations, err)
	}
	d, err := coco.Join(f, a.join)
	return d, errs.Wrap(cocoName, a.annotations, err)
}

// readPreprocessed reads a folder of binary files.
func readPreprocessed(ctx context.Context, a cocoArgs) (*coco.Dataset, error) {
	d, err := coco.Read(a.parts(), func(name string) ([]byte, error) {
		path := datafs.Join(a.preprocessed, name)
		set, err := shards.Open(ctx, cocoName, []string{path})
		if errors.Is(err, errs.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer set.Close()
		return set.ReadFile(ctx, 0, set.Size(0))
	})
	return d, errs.Wrap(cocoName, a.preprocessed, err)
}

// save writes the annotations to binary files. Each takes the place of an older one at once, so
// that several processes may write them.
func (s *cocoSource) save() error {
	dir := s.args.saveDir
	err := s.data.Write(s.args.parts(), func(name string, contents []byte) error {
		f, err := os.CreateTemp(dir, name+".*")
		if err != nil {
			return err
		}
		_, err = f.Write(contents)
		err = errors.Join(err, f.Chmod(0o644), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), filepath.Join(dir, name))
		}
		if err != nil {
			os.Remove(f.Name()) //nolint:errcheck // the other error says more
		}
		return err
	})
	if err != nil {
		return fileError(cocoName, dir, err)
	}
	return nil
}

// fingerprint hashes the annotations, and the names and sizes of the files. It does not read the
// files.
func (s *cocoSource) fingerprint() string {
	h := state.NewHasher("bivouac.readers.coco.v1")
	s.data.Write(s.args.parts(), func(name string, contents []byte) error { //nolint:errcheck // the function has no error
		h.String(name)
		h.Bytes(contents)
		return nil
	})
	for i := range s.set.Len() {
		h.Int(s.set.Size(i))
	}
	if s.args.coordinates {
		h.String("coordinates")
	}
	return h.Sum()
}

func (s *cocoSource) Info() Info { return s.info }

func (s *cocoSource) Size(id int64) int64 {
	n := s.set.Size(int(id))
	if s.args.pixelwise {
		n += 4 * int64(s.data.Heights[id]) * int64(s.data.Widths[id])
	}
	return n
}

// Name implements Named.
func (s *cocoSource) Name(id int64) string { return s.data.Name(int(id)) }

func (s *cocoSource) Describe(id int64) string {
	what := "file " + s.set.Path(int(id))
	if s.args.preprocessed == "" || s.args.ids {
		what += fmt.Sprintf(", image id %d", s.data.IDs[id])
	}
	return what
}

func (s *cocoSource) Close() error { return s.set.Close() }

func (s *cocoSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, int(id), i, dst) })
}

func (s *cocoSource) fetch(ctx context.Context, id, at int, dst *op.Block) error {
	if err := s.set.ReadAt(ctx, id, dst.Out(0, at, int(s.set.Size(id))).Data, 0); err != nil {
		return err
	}
	boxes, labels := s.data.BoxesOf(id)
	sides, err := tensor.Of[float32](dst.Out(1, at, len(boxes), 4))
	if err != nil {
		return err
	}
	for i, b := range boxes {
		copy(sides[4*i:], b[:])
	}
	if err := put(dst.Out(2, at, len(labels)), labels); err != nil {
		return err
	}
	next := 3
	switch {
	case s.args.polygons:
		if err := s.polygons(id, at, dst); err != nil {
			return err
		}
		next = 5
	case s.args.pixelwise:
		if err := s.data.CheckMask(id); err != nil {
			return err
		}
		pixels, err := tensor.Of[int32](dst.Out(3, at, int(s.data.Heights[id]), int(s.data.Widths[id]), 1))
		if err != nil {
			return err
		}
		p := s.painters.Get().(*coco.Painter)
		p.Paint(s.data, id, pixels)
		s.painters.Put(p)
		next = 4
	}
	if s.args.ids {
		return put(dst.Out(next, at, 1), s.data.IDs[id:id+1])
	}
	return nil
}

// put copies numbers into an output.
func put[T tensor.Element](t tensor.Tensor, from []T) error {
	to, err := tensor.Of[T](t)
	copy(to, from)
	return err
}

// putOne writes a number into an output.
func putOne[T tensor.Element](t tensor.Tensor, v T) error {
	to, err := tensor.Of[T](t)
	if err == nil {
		to[0] = v
	}
	return err
}

func (s *cocoSource) polygons(id, at int, dst *op.Block) error {
	polygons, vertices := s.data.PolygonsOf(id)
	rows, err := tensor.Of[int32](dst.Out(3, at, len(polygons), 3))
	if err != nil {
		return err
	}
	unit := int32(1)
	if s.args.coordinates {
		unit = 2
	}
	for i, p := range polygons {
		rows[3*i], rows[3*i+1], rows[3*i+2] = p.Box, unit*p.First, unit*p.End
	}
	points, err := tensor.Of[float32](dst.Out(4, at, len(vertices), 2))
	for i, v := range vertices {
		copy(points[2*i:], v[:])
	}
	return err
}
