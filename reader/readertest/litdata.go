package readertest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// Litdata makes a data set of n samples in litdata's format: a number and a text. A chunk has 7
// samples.
func Litdata(dir string, n int) (name string, args op.Args, err error) {
	u32 := binary.LittleEndian.AppendUint32
	var chunks []map[string]any
	for first := 0; first < n; first += 7 {
		count := min(7, n-first)
		table, body := u32(nil, uint32(count)), []byte(nil)
		for i := first; i < first+count; i++ {
			table = u32(table, uint32(8+4*count+len(body)))
			text := fmt.Sprint("sample ", i)
			body = u32(u32(body, 8), uint32(len(text)))
			body = append(binary.LittleEndian.AppendUint64(body, uint64(i)), text...)
		}
		table = u32(table, uint32(8+4*count+len(body)))
		file := fmt.Sprintf("chunk-0-%d.bin", first/7)
		if err := os.WriteFile(filepath.Join(dir, file), append(table, body...), 0o666); err != nil {
			return "", nil, err
		}
		chunks = append(chunks, map[string]any{"chunk_bytes": len(table) + len(body), "chunk_size": count, "dim": nil,
			"filename": file})
	}
	text, err := json.Marshal(map[string]any{"chunks": chunks, "config": map[string]any{
		"data_format": []string{"int", "str"}, "item_loader": "PyTreeLoader", "compression": nil}})
	if err != nil {
		return "", nil, err
	}
	return "readers.litdata", op.Args{"path": dir}, os.WriteFile(filepath.Join(dir, "index.json"), text, 0o666)
}
