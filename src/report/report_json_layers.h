/* The parts of report.json that tell of layers. */
#ifndef REPORT_REPORT_JSON_LAYERS_H
#define REPORT_REPORT_JSON_LAYERS_H

#include "base/json.h"
#include "report/report.h"

/* "layer_count", "layers" and "layers_outside". */
void json_put_layers(struct json *j, const struct analysis_layers *l);

#endif
