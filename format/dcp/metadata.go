package dcp

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// MetadataName is the file that makes a directory a checkpoint. It is written last.
const MetadataName = ".metadata"

// DataSuffix ends the names of the data files.
const DataSuffix = ".distcp"

// Zstd is the transform of a compressed chunk: one or more zstd frames.
const Zstd = "stream.zstd"

// Metadata is the content of a .metadata file.
type Metadata struct {
	Version string  // "1.0.0", or "" if the writer was older than versions
	Entries []Entry // in the order of the file
}

// Entry is a tensor or a value.
type Entry struct {
	Key    string
	Path   tree.Path // of the value in the tree that was saved; the key alone if the planner records none
	Value  bool      // a value of Python, which is in the one chunk
	DType  tensor.DType
	Shape  tensor.Shape
	Chunks []Chunk // those with elements tile the tensor
	Moved  bool    // the elements of a chunk may lie in another order than C
	Err    error   // why the entry cannot be read
}

// Chunk is a part of a tensor, or a value, and the place of its archive.
type Chunk struct {
	Origin, Shape  []int // of a tensor
	File           string
	Offset, Length int64
	Transforms     []string // of the archive, in the order in which they are undone
}

// Parse reads a .metadata file. A fault of one entry is in its Err, such as a missing chunk.
//
// Errors: errs.Unsupported for a pickle with a name that is not listed, errs.Corrupt for anything
// else that is not such a file.
func Parse(b []byte) (*Metadata, error) {
	v, err := pickle.Parse(b, pickle.Options{Listed: listed})
	if err != nil {
		return nil, errs.Wrap("dcp.Parse", "", err)
	}
	m, err := metadataOf(v)
	return m, errs.Wrap("dcp.Parse", "", err)
}

const (
	ownModule   = "torch.distributed.checkpoint.metadata"
	filesModule = "torch.distributed.checkpoint.filesystem"
	oldModule   = "torch.distributed._shard.sharded_tensor.metadata" // before torch 2.3
)

// names has the names that metadata may have, by module. None of them is imported or called.
var names = map[string][]string{
	ownModule: {"Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata", "TensorProperties",
		"MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING"},
	filesModule:           {"_StorageInfo", "_StoragePrefix"},
	oldModule:             {"TensorProperties", "MEM_FORMAT_ENCODING"},
	"torch":               {"Size"},
	"torch.serialization": {"_get_layout"},
	"collections":         {"OrderedDict"},
	"pathlib":             paths,
	"pathlib._local":      paths,
}

var paths = []string{"Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"}

// listed reports whether metadata may have a name.
func listed(g pickle.Global) bool {
	return slices.Contains(names[g.Module], g.Name) || g.Module == "torch" && pt.IsType(g.Name)
}

func corrupt(subject, format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: subject, Got: fmt.Sprintf(format, args...)}
}

// instance returns the state of an instance of a class.
func instance(v any, class string) (state any, ok bool) {
	o, ok := v.(*pickle.Object)
	if !ok || o.Of.Name != class {
		return nil, false
	}
	return o.State, true
}

// fields returns the attributes of an instance of a class.
func fields(v any, class string) (*pickle.Dict, bool) {
	state, ok := instance(v, class)
	if !ok {
		return nil, false
	}
	if state == nil {
		return &pickle.Dict{}, true
	}
	d, ok := state.(*pickle.Dict)
	return d, ok
}

// field returns an attribute of the type T.
func field[T any](d *pickle.Dict, name string) (v T, ok bool) {
	if any, has := d.Get(name); has {
		v, ok = any.(T)
	}
	return v, ok
}

// extents returns the numbers of a torch.Size.
func extents(v any) ([]int, bool) {
	o, ok := v.(*pickle.Object)
	if !ok || o.Of.Name != "Size" || len(o.Args) != 1 {
		return nil, false
	}
	t, ok := o.Args[0].(*pickle.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int, len(t.Items))
	for i, item := range t.Items {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// metadataOf interprets the value of the pickle.
func metadataOf(v any) (*Metadata, error) {
	top, ok := fields(v, "Metadata")
	if !ok {
		return nil, corrupt("", "%s instead of the metadata of a checkpoint", pickle.Kind(v))
	}
	entries, ok := field[*pickle.Dict](top, "state_dict_metadata")
	if !ok {
		return nil, corrupt("", "metadata without state_dict_metadata")
	}
	stored, err := storageOf(top)
	if err != nil {
		return nil, err
	}
	m := &Metadata{}
	m.Version, _ = field[string](top, "version")
	if major, _, _ := strings.Cut(m.Version, "."); major != "" && major != "1" {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "a checkpoint of version 1", Got: "version " + m.Version}
	}
	paths := plannedPaths(top)
	at := make(map[string]int, len(entries.Keys))
	for i, k := range entries.Keys {
		key, ok := k.(string)
		if !ok {
			return nil, corrupt("", "the key of an entry that is %s", pickle.Kind(k))
		}
		e := Entry{Key: key, Path: paths[key]}
		if e.Path == nil {
			e.Path = tree.Path{{Name: key}}
		}
		e.Err = e.read(entries.Values[i], stored)
		if n, twice := at[key]; twice {
			m.Entries[n] = e
			continue
		}
		at[key] = len(m.Entries)
		m.Entries = append(m.Entries, e)
	}
	return m, nil
}

// place is the key of a chunk in the storage data.
func place(key string, origin []int) string {
	b := append([]byte(key), 0)
	for _, n := range origin {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// storageOf returns the places of all chunks.
func storageOf(top *pickle.Dict) (map[string]Chunk, error) {
	all, ok := field[*pickle.Dict](top, "storage_data")
	if !ok {
		return nil, corrupt("", "metadata without storage_data")
	}
	out := make(map[string]Chunk, len(all.Keys))
	for i, k := range all.Keys {
		index, ok := fields(k, "MetadataIndex")
		key, has := "", false
		if ok {
			key, has = field[string](index, "fqn")
		}
		if !has {
			return nil, corrupt("storage_data", "the key %s", pickle.Kind(k))
		}
		origin := []int(nil)
		if v, has := index.Get("offset"); has && v != nil {
			if origin, ok = extents(v); !ok {
				return nil, corrupt("storage_data", "an offset of %s that is %s", strconv.Quote(key), pickle.Kind(v))
			}
		}
		info, ok := fields(all.Values[i], "_StorageInfo")
		if !ok {
			return nil, &errs.Error{Kind: errs.Unsupported, Subject: "storage_data", Want: "the places of files",
				Got: pickle.Kind(all.Values[i]), Remedy: "load it with the storage reader that belongs to its writer"}
		}
		c, err := chunkOf(info)
		if err != nil {
			return nil, errs.Wrap("", "storage_data of "+strconv.Quote(key), err)
		}
		out[place(key, origin)] = c
	}
	return out, nil
}

// chunkOf reads the place of a chunk.
func chunkOf(info *pickle.Dict) (Chunk, error) {
	file, ok := field[string](info, "relative_path")
	offset, has := field[int64](info, "offset")
	length, also := field[int64](info, "length")
	c := Chunk{File: file, Offset: offset, Length: length}
	switch {
	case !ok || !has || !also:
		return c, corrupt("", "a place without file, offset or length")
	case offset < 0 || length < 0 || offset+length < 0:
		return c, corrupt("", "%d bytes at %d", length, offset)
	case !local(file):
		return c, corrupt("", "the file %s, which is not a file of the checkpoint", strconv.Quote(file))
	}
	v, has := info.Get("transform_descriptors")
	if !has || v == nil {
		return c, nil
	}
	var items []any
	switch v := v.(type) {
	case *pickle.List:
		items = v.Items
	case *pickle.Tuple:
		items = v.Items
	default:
		return c, corrupt("", "transform_descriptors that are %s", pickle.Kind(v))
	}
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return c, corrupt("", "a transform that is %s", pickle.Kind(item))
		}
		c.Transforms = append(c.Transforms, name)
	}
	return c, nil
}

// local reports whether a name is of a file in the checkpoint.
func local(name string) bool {
	return name != "" && name != "." && !strings.HasPrefix(name, "/") && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\x00")
}

// plannedPaths returns the paths that the planner recorded, by key. Records of another form are
// left out.
func plannedPaths(top *pickle.Dict) map[string]tree.Path {
	planned, ok := field[*pickle.Dict](top, "planner_data")
	if !ok {
		return nil
	}
	out := make(map[string]tree.Path, len(planned.Keys))
	for i, k := range planned.Keys {
		key, ok := k.(string)
		steps, also := planned.Values[i].(*pickle.Tuple)
		if !ok || !also || len(steps.Items) == 0 {
			continue
		}
		p := make(tree.Path, len(steps.Items))
		for j, step := range steps.Items {
			switch step := step.(type) {
			case string:
				p[j] = tree.Key{Name: step}
			case int64:
				p[j] = tree.Key{Name: strconv.FormatInt(step, 10), Kind: tree.KeyIndex}
			default:
				p = nil
			}
			if p == nil {
				break
			}
		}
		if p != nil {
			out[key] = p
		}
	}
	return out
}

// read reads the metadata of an entry and finds its chunks.
func (e *Entry) read(v any, stored map[string]Chunk) error {
	if _, ok := instance(v, "BytesStorageMetadata"); ok {
		e.Value = true
		c, ok := stored[place(e.Key, nil)]
		if !ok {
			return corrupt("", "a value whose place is not in storage_data")
		}
		e.Chunks = []Chunk{c}
		return checkTransforms(c)
	}
	of, ok := fields(v, "TensorStorageMetadata")
	if !ok {
		return corrupt("", "an entry that is %s", pickle.Kind(v))
	}
	properties, _ := of.Get("properties")
	size, _ := of.Get("size")
	chunks, listed := field[*pickle.List](of, "chunks")
	shape, ok := extents(size)
	if !ok || !listed {
		return corrupt("", "a tensor without size or chunks")
	}
	e.Shape = shape
	if err := e.readType(properties); err != nil {
		return err
	}
	bytes, err := e.Shape.Bytes(e.DType)
	if err != nil {
		return corrupt("", "a tensor of the shape %s", e.Shape)
	}
	for _, item := range chunks.Items {
		c, err := e.chunk(item, stored)
		if err != nil {
			return err
		}
		e.Chunks = append(e.Chunks, c)
	}
	if bytes == 0 {
		return nil
	}
	return Tiles(e.Shape, e.Chunks)
}

// readType reads the type of the elements.
func (e *Entry) readType(v any) error {
	state, ok := instance(v, "TensorProperties")
	t, also := state.(*pickle.Tuple)
	if !ok || !also || len(t.Items) < 2 {
		return corrupt("", "a tensor without properties")
	}
	g, ok := t.Items[0].(pickle.Global)
	if !ok {
		return corrupt("", "a tensor whose type is %s", pickle.Kind(t.Items[0]))
	}
	l, ok := t.Items[1].(*pickle.Object)
	if !ok || l.Of.Name != "_get_layout" || len(l.Args) != 1 || l.Args[0] != "torch.strided" {
		return &errs.Error{Kind: errs.Unsupported, Want: "a dense tensor", Got: "a tensor of another layout",
			Remedy: "save it after to_dense()"}
	}
	if e.DType, ok = pt.DType(g.Name); !ok {
		return &errs.Error{Kind: errs.Unsupported, Want: "a tensor of a known type", Got: g.String(),
			Remedy: "save it as another type"}
	}
	if len(t.Items) > 5 {
		e.Moved = moved(t.Items[5], e.Shape)
	}
	return nil
}

// moved reports whether the strides of a tensor differ from the strides of C order. Older writers
// record no strides.
func moved(strides any, shape []int) bool {
	t, ok := strides.(*pickle.Tuple)
	if !ok || len(t.Items) != len(shape) {
		return false
	}
	next := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && t.Items[i] != next {
			return true
		}
		next *= int64(shape[i])
	}
	return false
}

// maxRatio bounds how many bytes one byte of a compressed chunk may become: zstd makes at most some
// 32,768 of a byte.
const maxRatio = 1 << 16

// chunk reads a chunk of a tensor and finds its place.
func (e *Entry) chunk(v any, stored map[string]Chunk) (Chunk, error) {
	of, ok := fields(v, "ChunkStorageMetadata")
	if !ok {
		return Chunk{}, corrupt("", "a chunk that is %s", pickle.Kind(v))
	}
	offsets, _ := of.Get("offsets")
	sizes, _ := of.Get("sizes")
	origin, ok := extents(offsets)
	shape, also := extents(sizes)
	if !ok || !also || len(origin) != len(e.Shape) || len(shape) != len(e.Shape) {
		return Chunk{}, corrupt("", "a chunk without offsets and sizes along %d axes", len(e.Shape))
	}
	for i, n := range e.Shape {
		if origin[i] > n || shape[i] > n-origin[i] {
			return Chunk{}, corrupt("", "the chunk %s outside of the tensor %s", boxText(origin, shape), e.Shape)
		}
	}
	c, ok := stored[place(e.Key, origin)]
	c.Origin, c.Shape = origin, shape
	bytes := int64(tensor.Shape(shape).Len() * e.DType.Size())
	switch {
	case bytes == 0:
		return c, nil
	case !ok:
		return c, corrupt("", "the chunk %s, whose place is not in storage_data", boxText(origin, shape))
	case bytes > c.Length && (len(c.Transforms) == 0 || bytes/maxRatio > c.Length):
		return c, corrupt("", "the chunk %s of %d bytes in %d bytes of %s", boxText(origin, shape), bytes, c.Length, c.File)
	}
	return c, checkTransforms(c)
}

// checkTransforms returns an error unless the transforms of a chunk can be undone.
func checkTransforms(c Chunk) error {
	for i, t := range c.Transforms {
		name, version, _ := strings.Cut(t, "/")
		major, _, _ := strings.Cut(version, ".")
		if name != Zstd || major != "1" || i > 0 {
			return &errs.Error{Kind: errs.Unsupported, Want: "chunks as they are, or with one transform " + Zstd + "/1",
				Got:    "the transforms " + strings.Join(c.Transforms, ", "),
				Remedy: "load it with torch.distributed.checkpoint and its extension, and save it without"}
		}
	}
	return nil
}

// boxText prints a box as [0:2, 3:4].
func boxText(origin, shape []int) string {
	parts := make([]string, len(origin))
	for i, o := range origin {
		parts[i] = strconv.Itoa(o) + ":" + strconv.Itoa(o+shape[i])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
