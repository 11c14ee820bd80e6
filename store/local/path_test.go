package local_test

import (
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/local"
)

// What looks like a URL or a home directory is refused by name, and nothing is made of it.
func TestCheckPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, refused := range map[string]bool{
		"gs://bucket/run": true, "s3://b": true, "S3://b/x": true, "hdfs://n:9000/x": true, "file:///tmp/x": true, "gs:/bucket/run": true,
		"~/run": true, "~": true, "~me/run": true,
		"run": false, "./~/run": false, "./gs:/b": false, "a:b/c": false, "run~": false, "/a/b:c/d": false, "c:/run": false, "x/y://z": false,
	} {
		err := local.CheckPath(path)
		if refused != (errs.KindOf(err) == errs.Unsupported) || !refused && err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := local.Open(path, nil); refused && errs.KindOf(err) != errs.Unsupported {
			t.Errorf("local.Open(%s): %v", path, err)
		}
	}
	if list, err := os.ReadDir("."); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
