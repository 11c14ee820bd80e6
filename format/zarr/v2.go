package zarr

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// ParseMetadataV2 parses .zarray. key is for errors, which are as in ParseMetadata. Unknown members
// are ignored, as format 2 demands.
func ParseMetadataV2(b []byte, key string) (*Metadata, error) {
	return parseMetadata(b, &document{key: key, format: V2}, (*document).metadataV2)
}

func (d *document) metadataV2(o object) *Metadata {
	m := &Metadata{Format: V2, Keys: KeyEncoding{V2: true}}
	if n, ok := integer(o.must("zarr_format")); d.err == nil && (!ok || n != 2) {
		d.corrupt("zarr_format is not 2")
	}
	m.Shape = d.extents(o.must("shape"), 0, "shape")
	m.ChunkShape = d.extents(o.must("chunks"), 1, "chunks")
	m.Keys.Separator = o.text("dimension_separator", m.Keys.separator())
	if filters := o.must("filters"); filters != nil {
		if list, ok := filters.([]any); !ok || len(list) > 0 {
			d.unsupported("filters")
		}
	}
	dtype, fill, order, compressor := o.must("dtype"), o.must("fill_value"), o.must("order"), o.must("compressor")
	if d.err != nil {
		return nil
	}
	name, ok := dtype.(string)
	if !ok {
		d.unsupported("a dtype that is not a plain name")
		return nil
	}
	var bigEndian bool
	if m.DType, bigEndian, ok = tensor.FromZarrV2(name); !ok {
		d.unsupported("dtype %q", name)
		return nil
	}
	m.Fill = d.fillValueV2(fill, m.DType)
	switch order {
	case "C":
	case "F":
		if len(m.ChunkShape) > 1 {
			m.Codecs = append(m.Codecs, Fortran(len(m.ChunkShape)))
		}
	default:
		d.corrupt("order is %v", order)
	}
	if bigEndian && m.DType.Size() > 1 {
		m.Codecs = append(m.Codecs, CodecSpec{Name: "bytes", Config: map[string]any{"endian": "big"}})
	} else {
		m.Codecs = append(m.Codecs, Bytes(m.DType))
	}
	if compressor != nil {
		config := d.object(compressor, "compressor")
		id := config.text("id", "")
		m.Codecs = append(m.Codecs, CodecSpec{Name: id, Config: config.m})
	}
	return m
}

// fillValueV2 reads a fill value: null, a value as in format 3 except bits in hexadecimal, or the
// bytes of an element in base64. A present value is not returned as nil, even if it is zero.
func (d *document) fillValueV2(v any, t tensor.DType) []byte {
	if v == nil {
		return nil
	}
	s, text := v.(string)
	if !text || s == "NaN" || s == "Infinity" || s == "-Infinity" {
		if b, ok := parseFill(v, t); ok {
			return b
		}
	} else if b, err := base64.StdEncoding.Strict().DecodeString(s); err == nil && len(b) == t.Size() {
		if (&chain{dtype: t}).finish(b) == nil {
			return b
		}
	}
	d.corrupt("fill_value %v is no value of %v", v, t)
	return nil
}

// fillJSONV2 is the inverse of fillValueV2. What has no other form is written in
// base64, as is a type that TensorStore does not take for a float there.
func fillJSONV2(fill []byte, t tensor.DType) any {
	if fill == nil {
		return nil
	}
	if t != tensor.Float4E2M1FN {
		v := fillJSON(fill, t)
		doc, err := marshal(v)
		d := &document{}
		if again := d.fillValueV2(d.parseJSON(doc), t); err == nil && d.err == nil && bytes.Equal(again, fill) {
			return v
		}
	}
	return base64.StdEncoding.EncodeToString(fill)
}

// checkV2 refuses what format 2 cannot say.
func (d *document) checkV2(m *Metadata) {
	name, named := m.DType.ZarrV2()
	codecs := m.Codecs
	if len(codecs) > 0 && codecs[0].Name == "transpose" {
		if order := codecs[0].Config["order"]; !slices.Equal(d.permutation(order, len(m.Shape)), fortranOrder(len(m.Shape))) {
			d.corrupt("order %v in format 2", order)
		}
		codecs = codecs[1:]
	}
	switch {
	case d.err != nil:
	case !named:
		d.unsupported("data type %v, which zarr format 2 has no name for", m.DType)
	case !m.Keys.V2:
		d.corrupt("chunk keys of format 3 in format 2")
	case m.DimNames != nil:
		d.corrupt("dimension names in format 2")
	case m.Attributes != nil:
		d.corrupt("attributes in the metadata of format 2")
	case len(codecs) == 0 || codecs[0].Name != "bytes":
		d.corrupt("format 2 without the codec bytes")
	case codecs[0].Config["endian"] == "big" && m.DType.Size() > 1 && name[0] != '<':
		d.corrupt("big-endian %v in format 2", m.DType)
	case len(codecs) > 2:
		d.corrupt("%d compressors in format 2", len(codecs)-1)
	}
}

// jsonV2 returns the metadata as the content of .zarray.
func (m *Metadata) jsonV2(c *chain) ([]byte, error) {
	name, _ := m.DType.ZarrV2()
	if c.bigEndian {
		name = ">" + name[1:]
	}
	order := "C"
	if !slices.Equal(c.order, identity(len(c.order))) {
		order = "F"
	}
	var compressor any
	for _, f := range c.filters {
		s := f.spec()
		config := maps.Clone(s.Config)
		config["id"] = s.Name
		compressor = config
	}
	return marshal(map[string]any{
		"chunks":              nonNil(m.ChunkShape),
		"compressor":          compressor,
		"dimension_separator": m.Keys.separator(),
		"dtype":               name,
		"fill_value":          fillJSONV2(m.Fill, m.DType),
		"filters":             nil,
		"order":               order,
		"shape":               nonNil(m.Shape),
		"zarr_format":         2,
	})
}
