package readertest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

func init() { All["nemo"] = Nemo }

// Nemo makes a manifest in NeMo's format and WAV files of a few samples.
func Nemo(dir string, n int) (string, op.Args, error) {
	manifest := filepath.Join(dir, "manifest.json")
	var lines []byte
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("%06d.wav", i))
		samples := make([]int16, 5+i%4)
		for k := range samples {
			samples[k] = int16(100*i + k)
		}
		if err := os.WriteFile(name, WAV(8000, samples), 0o666); err != nil {
			return "", nil, err
		}
		line, err := json.Marshal(map[string]any{"audio_filepath": name, "duration": 1.0, "text": fmt.Sprint("text ", i)})
		if err != nil {
			return "", nil, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return "readers.nemo_asr", op.Args{"manifest_filepaths": []string{manifest},
		"read_idxs": true}, os.WriteFile(manifest, lines, 0o666)
}

// WAV returns a WAV file of one channel.
func WAV(rate int, samples []int16) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0)
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(2*rate))
	b = append(b, 2, 0, 16, 0)
	b = le.AppendUint32(append(b, "data"...), uint32(2*len(samples)))
	for _, s := range samples {
		b = le.AppendUint16(b, uint16(s))
	}
	le.PutUint32(b[4:], uint32(len(b)-8))
	return b
}
