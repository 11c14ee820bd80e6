package zarr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/growth"
)

func metadataWith(attributes, codecs string) []byte {
	return []byte(`{"attributes":` + attributes + `,"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8",` +
		`"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[` + codecs + `]}`)
}

// Metadata of any length is parsed in memory in proportion to it.
func TestParseMetadataGrowth(t *testing.T) {
	for name, doc := range map[string]func(n int) []byte{
		"lists":   func(n int) []byte { return metadataWith(`{"a":[`+strings.Repeat(`[[]],`, n)+`1]}`, `{"name":"bytes"}`) },
		"strings": func(n int) []byte { return metadataWith(`{"a":"`+strings.Repeat(`text`, n)+`"}`, `{"name":"bytes"}`) },
		"members": func(n int) []byte {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `"k%d":1,`, i)
			}
			return metadataWith(`{`+b.String()+`"k":1}`, `{"name":"bytes"}`)
		},
	} {
		growth.Check(t, growth.Op{Name: name, N: 2000, Prepare: func(_ growth.TB, n int) func() error {
			b := doc(n)
			return func() error { _, err := ParseMetadata(b, "zarr.json"); return err }
		}})
	}
}

// What no writer makes is refused in memory in proportion to it, however deep and long
// its codecs are.
func TestRefusedMetadataGrowth(t *testing.T) {
	shard := func(n int) string {
		return strings.Repeat(`{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[`, n) + `{"name":"bytes"}` +
			strings.Repeat(`],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}`, n)
	}
	for name, codecs := range map[string]func(n int) string{
		"nested shards": shard,
		"nested lists":  func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) },
		"cut short":     func(n int) string { return strings.Repeat(`{"name":"crc32c"},[`, n) },
		"many codecs":   func(n int) string { return `{"name":"bytes"}` + strings.Repeat(`,{"name":"crc32c"}`, n) },
		"shards of shards": func(n int) string {
			return shard(8) + strings.Repeat(`,`+shard(8), n/8)
		},
		"configurations": func(n int) string {
			return `{"name":"bytes","configuration":{` + strings.Repeat(`"a":{},`, n) + `"b":1}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Check(t, growth.Op{Name: name, N: 2000, Prepare: func(_ growth.TB, n int) func() error {
				b := metadataWith(`{}`, codecs(n))
				return func() error {
					if _, err := ParseMetadata(b, "zarr.json"); err == nil {
						return fmt.Errorf("%d bytes were taken", len(b))
					}
					return nil
				}
			}})
		})
	}
}

// A list of codecs that no writer makes is refused before each of them is made, inside
// of shards too.
func TestTooManyCodecs(t *testing.T) {
	many := `{"name":"bytes"}` + strings.Repeat(`,{"name":"crc32c"}`, maxCodecs)
	inner := `{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[` + many + `],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}`
	for _, codecs := range []string{many, inner} {
		if _, err := ParseMetadata(metadataWith(`{}`, codecs), "zarr.json"); errs.KindOf(err) != errs.Unsupported {
			t.Errorf("%d codecs: %v, want errs.Unsupported", maxCodecs+1, err)
		}
	}
}
