package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"poems/spring.txt": "the first green", "poems/fall.txt": "a last leaf", "notes/todo.txt": "buy milk",
		"data.yaml": `
sources:
  - {name: poems, path: poems/*.txt, reader: file, fields: {text: files}, args: {file_filters: ["*.txt"]}, weight: 2}
  - {name: notes, path: notes/*.txt, reader: file, fields: {text: files}, args: {file_filters: ["*.txt"]}, weight: 1}
`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}

	data, err := dataset.Open(ctx, filepath.Join(dir, "data.yaml"), dataset.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer data.Close()
	o := loader.Options[reader.Fields, []string]{Order: data.Order(), BatchSize: 3,
		Collate: func(samples []reader.Fields) (texts []string, err error) {
			for i := range samples {
				s, err := reader.Decode[struct{ Text string }](&samples[i])
				if err != nil {
					return nil, err
				}
				texts = append(texts, s.Text)
			}
			return texts, nil
		}}
	l, err := loader.New(data, o)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	texts, err := l.Next(ctx)
	fmt.Printf("%q %v\n", texts, err)
	// Output:
	// ["a last leaf" "buy milk" "the first green"] <nil>
}
