/* Runs a model of f32 once, on a constant image, and prints where its first output is largest.
 * usage: embed_c MODEL.xml */
#include <ir_runtime/c_api.h>
#include <stdio.h>
#include <string.h>

static int check(ir_status status) {
  if (status == IR_STATUS_OK) return 1;
  fprintf(stderr, "%s\n", ir_last_error());
  return 0;
}

static int holds_floats(const ir_tensor* tensor) {
  if (strcmp(tensor->element_type, "f32") == 0 && tensor->byte_size > 0) return 1;
  fprintf(stderr, "a tensor of %s and %zu bytes holds no f32\n", tensor->element_type, tensor->byte_size);
  return 0;
}

static int run(ir_infer_request* request, const ir_compiled_model* compiled) {
  ir_port port;
  ir_tensor output;
  size_t best = 0;
  for (size_t i = 0; i < ir_input_count(compiled); ++i) {
    ir_tensor input;
    if (!check(ir_input_tensor(request, i, &input)) || !holds_floats(&input)) return 1;
    float* values = input.data;
    for (size_t k = 0; k < input.byte_size / sizeof(float); ++k) values[k] = 0.5F;
  }
  if (!check(ir_infer(request)) || !check(ir_output_tensor(request, 0, &output)) || !holds_floats(&output))
    return 1;
  if (!check(ir_output_port(compiled, 0, &port))) return 1;
  const float* scores = output.data;
  for (size_t k = 0; k < output.byte_size / sizeof(float); ++k) {
    if (scores[k] > scores[best]) best = k;
  }
  printf("%s is largest at %zu: %g\n", port.name, best, (double)scores[best]);
  return 0;
}

int main(int argc, char** argv) {
  ir_model* model = NULL;
  ir_compiled_model* compiled = NULL;
  ir_infer_request* request = NULL;
  int status = 1;
  if (argc != 2) {
    fprintf(stderr, "usage: embed_c MODEL.xml\n");
    return 2;
  }
  if (check(ir_read_model(argv[1], NULL, &model)) && check(ir_compile_model(model, 0, &compiled)) &&
      check(ir_create_infer_request(compiled, &request))) {
    status = run(request, compiled);
  }
  ir_infer_request_free(request);
  ir_compiled_model_free(compiled);
  ir_model_free(model);
  return status;
}
