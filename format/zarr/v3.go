package zarr

import (
	"encoding/json"

	"github.com/bivouac-ml/bivouac/tensor"
)

// ParseMetadata parses zarr.json. key is for errors, which are errs.Corrupt or,
// for what this package cannot read, errs.Unsupported.
func ParseMetadata(b []byte, key string) (*Metadata, error) {
	return parseMetadata(b, &document{key: key}, (*document).metadata)
}

// parseMetadata parses the metadata of a format, which read reads.
func parseMetadata(b []byte, d *document, read func(*document, object) *Metadata) (*Metadata, error) {
	v := d.parseJSON(b)
	if d.err != nil {
		return nil, d.err
	}
	m := read(d, d.object(v, "metadata"))
	if d.err != nil {
		return nil, d.err
	}
	if _, err := m.chain(d); err != nil {
		return nil, err
	}
	return m, nil
}

func (d *document) metadata(o object) *Metadata {
	m := &Metadata{}
	if n, ok := integer(o.must("zarr_format")); d.err == nil && (!ok || n != 3) {
		d.corrupt("zarr_format is not 3")
	}
	if o.must("node_type") != "array" {
		d.corrupt("node_type is not array")
	}
	m.Shape = d.extents(o.must("shape"), 0, "shape")
	m.DType = d.dataType(o.must("data_type"))
	if d.err != nil {
		return nil
	}
	m.ChunkShape = d.regularGrid(o.must("chunk_grid"))
	m.Keys = d.keyEncoding(o.must("chunk_key_encoding"))
	fill := o.must("fill_value")
	if d.err != nil {
		return nil
	}
	m.Fill = d.fillValue(fill, m.DType)
	m.Codecs = d.codecList(o.must("codecs"), "codecs")
	if v, ok := o.take("attributes"); ok {
		m.Attributes = d.attributes(v)
	}
	if v, ok := o.take("dimension_names"); ok && v != nil {
		m.DimNames = d.dimensionNames(v)
	}
	if v, ok := o.take("storage_transformers"); ok {
		if list, ok := v.([]any); !ok || len(list) > 0 {
			d.unsupported("storage_transformers")
		}
	}
	o.done()
	return m
}

func (d *document) dataType(v any) tensor.DType {
	if d.err != nil {
		return 0
	}
	name, ok := v.(string)
	if !ok {
		d.unsupported("a data_type that is not a plain name")
		return 0
	}
	t, ok := tensor.FromZarr(name)
	if !ok {
		d.unsupported("data_type %q", name)
	}
	return t
}

func (d *document) regularGrid(v any) []int {
	if d.err != nil {
		return nil
	}
	name, config := d.extension(v, "chunk_grid")
	if d.err == nil && name != "regular" {
		d.unsupported("chunk_grid %q", name)
	}
	shape := config.must("chunk_shape")
	config.done()
	if d.err != nil {
		return nil
	}
	return d.extents(shape, 1, "chunk_shape")
}

func (d *document) keyEncoding(v any) KeyEncoding {
	if d.err != nil {
		return KeyEncoding{}
	}
	name, config := d.extension(v, "chunk_key_encoding")
	k := KeyEncoding{V2: name == "v2"}
	if d.err == nil && name != "default" && name != "v2" {
		d.unsupported("chunk_key_encoding %q", name)
	}
	k.Separator = config.text("separator", k.separator())
	config.done()
	if d.err == nil && k.Separator != "/" && k.Separator != "." {
		d.corrupt("separator is %q", k.Separator)
	}
	return k
}

// maxCodecs bounds a list of codecs: real ones have a handful, and each takes many times
// its text in memory.
const maxCodecs = 256

func (d *document) codecList(v any, name string) []CodecSpec {
	list, ok := v.([]any)
	if !ok {
		d.corrupt("%s is not a list", name)
		return nil
	}
	if len(list) > maxCodecs {
		d.unsupported("%s with %d members: at most %d", name, len(list), maxCodecs)
		return nil
	}
	specs := make([]CodecSpec, 0, len(list))
	for _, e := range list {
		name, config := d.extension(e, "codec")
		specs = append(specs, CodecSpec{Name: name, Config: config.m})
	}
	return specs
}

// attributes are the user's; they are kept as they were, sorted.
func (d *document) attributes(v any) json.RawMessage {
	o := d.object(v, "attributes")
	if d.err != nil || len(o.m) == 0 {
		return nil
	}
	b, err := marshal(o.m)
	if err != nil {
		d.corrupt("attributes: %v", err)
	}
	return b
}

func (d *document) dimensionNames(v any) []string {
	list, ok := v.([]any)
	if !ok {
		d.corrupt("dimension_names is not a list")
		return nil
	}
	names := make([]string, len(list))
	for i, e := range list {
		if e == nil {
			continue
		}
		if names[i], ok = e.(string); !ok {
			d.corrupt("dimension_names has a member that is not a string")
		}
	}
	return names
}

// JSON returns the metadata as the content of zarr.json, or of .zarray in format
// 2.
func (m *Metadata) JSON() ([]byte, error) {
	c, err := m.chain(&document{key: "metadata", made: true})
	if err != nil {
		return nil, err
	}
	if m.Format == V2 {
		return m.jsonV2(c)
	}
	name, _ := m.DType.Zarr()
	encoding := map[string]any{"name": "default"}
	if m.Keys.V2 {
		encoding["name"] = "v2"
	}
	if s := m.Keys.separator(); s != (KeyEncoding{V2: m.Keys.V2}).separator() {
		encoding["configuration"] = map[string]any{"separator": s}
	}
	doc := map[string]any{
		"chunk_grid":         named("regular", map[string]any{"chunk_shape": nonNil(m.ChunkShape)}),
		"chunk_key_encoding": encoding,
		"codecs":             c.json(),
		"data_type":          name,
		"fill_value":         fillJSON(m.Fill, m.DType),
		"node_type":          "array",
		"shape":              nonNil(m.Shape),
		"zarr_format":        3,
	}
	if len(m.Attributes) > 0 {
		doc["attributes"] = m.Attributes
	}
	for _, n := range m.DimNames {
		if n != "" {
			doc["dimension_names"] = nullable(m.DimNames)
			break
		}
	}
	return marshal(doc)
}

// named is {"configuration": …, "name": …}; an empty configuration is left out.
func named(name string, config map[string]any) map[string]any {
	if len(config) == 0 {
		return map[string]any{"name": name}
	}
	return map[string]any{"name": name, "configuration": config}
}

// nonNil makes an empty list be written as [].
func nonNil(s []int) []int {
	if s == nil {
		return []int{}
	}
	return s
}

func nullable(names []string) []any {
	out := make([]any, len(names))
	for i, n := range names {
		if n != "" {
			out[i] = n
		}
	}
	return out
}
