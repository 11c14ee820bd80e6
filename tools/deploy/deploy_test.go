// Package deploy holds the test of the manifests in deploy/. It is a module of its own, because the
// types of Kubernetes are not a dependency of Bivouac.
package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the types of the documents.
var kinds = map[string]func() any{
	"batch/v1 Job":        func() any { return &batchv1.Job{} },
	"apps/v1 StatefulSet": func() any { return &appsv1.StatefulSet{} },
	"v1 Service":          func() any { return &corev1.Service{} },
}

// documents decodes all manifests. A field that a type does not have is an error.
func documents(t *testing.T) (all []any) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal(document, &meta); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kind, ok := kinds[meta.APIVersion+" "+meta.Kind]
			if !ok {
				t.Fatalf("%s: %s %s", file, meta.APIVersion, meta.Kind)
			}
			x := kind()
			if err := yaml.UnmarshalStrict(document, x); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			all = append(all, x)
		}
	}
	return all
}

// The pods of the Job know their rank and the world, and have time to save after SIGTERM.
func TestTrainer(t *testing.T) {
	all := documents(t)
	i := slices.IndexFunc(all, func(x any) bool { _, ok := x.(*batchv1.Job); return ok })
	job := all[i].(*batchv1.Job).Spec
	if *job.CompletionMode != batchv1.IndexedCompletion || *job.Completions != *job.Parallelism {
		t.Error("the Job is not indexed, or not all of its pods run at once")
	}
	pod := job.Template.Spec
	if *pod.TerminationGracePeriodSeconds < 60 {
		t.Error("a pod has less than a minute after SIGTERM")
	}
	env := map[string]string{}
	for _, v := range pod.Containers[0].Env {
		env[v.Name] = v.Value
	}
	if env["BIVOUAC_WORLD"] != strconv.Itoa(int(*job.Completions)) {
		t.Errorf("BIVOUAC_WORLD is %q, and there are %d pods", env["BIVOUAC_WORLD"], *job.Completions)
	}
}

// The Service leads to the pods of the StatefulSet.
func TestEtcd(t *testing.T) {
	var service *corev1.Service
	var set *appsv1.StatefulSet
	for _, x := range documents(t) {
		switch x := x.(type) {
		case *corev1.Service:
			service = x
		case *appsv1.StatefulSet:
			set = x
		}
	}
	if set.Spec.ServiceName != service.Name || service.Spec.Selector["app"] != set.Spec.Template.Labels["app"] {
		t.Errorf("Service %s does not lead to StatefulSet %s", service.Name, set.Name)
	}
	args := strings.Join(set.Spec.Template.Spec.Containers[0].Args, " ")
	if !strings.Contains(args, "--auto-compaction-retention=") {
		t.Error("etcd keeps all revisions")
	}
}

// A misspelt field is found.
func TestStrict(t *testing.T) {
	if err := yaml.UnmarshalStrict([]byte("spec: {completion: 4}"), &batchv1.Job{}); err == nil {
		t.Error("a field that Job does not have is taken")
	}
}
