"""Random ONNX models for the servers of this folder, made once and kept in memory."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def mlp(width=256, layers=4, inputs=64, outputs=8):
    """A multilayer perceptron: float rows (n, inputs) to (n, outputs); bytes for a session."""
    random = np.random.default_rng(5)
    sizes = [inputs] + [width] * (layers - 1) + [outputs]
    nodes, weights, last = [], [], "x"
    for i, (size_in, size_out) in enumerate(zip(sizes[:-1], sizes[1:])):
        weight = (random.standard_normal((size_in, size_out)) / size_in ** 0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, "w%d" % i))
        nodes.append(helper.make_node("MatMul", [last, "w%d" % i], ["m%d" % i]))
        last = "y" if i == layers - 1 else "r%d" % i
        if last != "y":
            nodes.append(helper.make_node("Relu", ["m%d" % i], [last]))
        else:
            nodes.append(helper.make_node("Softmax", ["m%d" % i], [last]))
    graph = helper.make_graph(
        nodes, "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", outputs])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()
