/* A C program of somebody else that uses the installed package: runs the model that the command line names.
 */
#include <ir_runtime/c_api.h>
#include <stdio.h>

int main(int argc, char** argv) {
  ir_model* model = NULL;
  ir_compiled_model* compiled = NULL;
  ir_infer_request* request = NULL;
  ir_tensor tensor;
  int failed = argc != 2 || ir_read_model(argv[1], NULL, &model) != IR_STATUS_OK ||
               ir_compile_model(model, 1, &compiled) != IR_STATUS_OK ||
               ir_create_infer_request(compiled, &request) != IR_STATUS_OK ||
               ir_input_tensor(request, 0, &tensor) != IR_STATUS_OK || ir_infer(request) != IR_STATUS_OK ||
               ir_output_tensor(request, 0, &tensor) != IR_STATUS_OK || tensor.byte_size == 0;
  if (failed) fprintf(stderr, "%s\n", ir_last_error());
  ir_infer_request_free(request);
  ir_compiled_model_free(compiled);
  ir_model_free(model);
  /* What is wrong is said, and nothing is left behind. */
  if (ir_read_model("missing.xml", NULL, &model) != IR_STATUS_FILE || model != NULL) return 1;
  printf("C: %s\n", ir_last_error_code());
  return failed;
}
