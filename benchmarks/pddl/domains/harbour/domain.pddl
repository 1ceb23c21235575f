; A barge with two berths carries crates between quays.
(define (domain harbour)
  (:requirements :strips :typing)
  (:types quay crate berth - object)
  (:predicates (moored ?q - quay) (lies ?c - crate ?q - quay) (vacant ?b - berth)
               (aboard ?c - crate ?b - berth) (channel ?a - quay ?b - quay))
  (:action sail
    :parameters (?a - quay ?b - quay)
    :precondition (and (moored ?a) (channel ?a ?b))
    :effect (and (moored ?b) (not (moored ?a))))
  (:action load
    :parameters (?c - crate ?q - quay ?b - berth)
    :precondition (and (lies ?c ?q) (moored ?q) (vacant ?b))
    :effect (and (aboard ?c ?b) (not (lies ?c ?q)) (not (vacant ?b))))
  (:action unload
    :parameters (?c - crate ?q - quay ?b - berth)
    :precondition (and (aboard ?c ?b) (moored ?q))
    :effect (and (lies ?c ?q) (vacant ?b) (not (aboard ?c ?b)))))
